import { setTimeout as delay } from 'node:timers/promises'
import { findEscaped, findMarked, signal } from './processes.ts'

/** Time for killed processes to end, in milliseconds. */
const KILL_TIMEOUT_MS = 5000
const POLL_MS = 20
/** Number of scans without a result before stopping, since a process briefly has no variables during execve. */
const EMPTY_SCANS = 2

/**
 * Kills processes that were started with one of these variables, in the form `NAME=value`, or have a mount with one of
 * these sources ({@link findMarked}), until none is left.
 *
 * @param userIds users of the programs. Their processes that have left the view of their program are killed as well
 * ({@link findEscaped}).
 * @returns the killed processes.
 * @throws {Error} if some do not end.
 */
export async function killByEnv(
  variables: readonly string[],
  mountSources: readonly string[] = [],
  userIds: readonly number[] = [],
): Promise<ReadonlySet<number>> {
  const ended = new Set<number>()
  if (variables.length === 0 && userIds.length === 0) return ended
  const deadlineMs = performance.now() + KILL_TIMEOUT_MS
  for (let emptyScans = 0; emptyScans < EMPTY_SCANS; ) {
    const pids = [...(await findMarked(variables, mountSources))]
    // Marked processes may have started them, so they are only scanned once the marked processes have ended.
    if (pids.length === 0) for (const id of userIds) pids.push(...(await findEscaped(id)))
    emptyScans = pids.length === 0 ? emptyScans + 1 : 0
    if (pids.length > 0 && performance.now() > deadlineMs)
      throw new Error(`processes ${pids.join(', ')} were killed but do not end`)
    for (const pid of pids) {
      signal(pid, 'SIGKILL')
      ended.add(pid)
    }
    if (emptyScans < EMPTY_SCANS) await delay(POLL_MS)
  }
  return ended
}
