import { setTimeout as delay } from 'node:timers/promises'
import { findEscaped, findMarked, signal } from './processes.ts'

/** Time limit for killed processes to end. */
const KILLED_MS = 5000
const POLL_MS = 20
/** Scans without result before it stops: a process during execve has no variables for a moment. */
const EMPTY_SCANS = 2

/**
 * Kills the processes that were started with one of these variables, in the form `NAME=value`, or have a mount with one of these
 * sources ({@link findMarked}), until there are none.
 *
 * @param userIds users of the programs; their processes that left the view of their program are killed as well ({@link findEscaped}).
 * @returns the killed processes.
 * @throws {Error} when some do not end.
 */
export async function killByEnv(
  variables: readonly string[],
  mountSources: readonly string[] = [],
  userIds: readonly number[] = [],
): Promise<ReadonlySet<number>> {
  const ended = new Set<number>()
  if (variables.length === 0 && userIds.length === 0) return ended
  const untilMs = performance.now() + KILLED_MS
  for (let emptyScans = 0; emptyScans < EMPTY_SCANS; ) {
    const pids = [...(await findMarked(variables, mountSources))]
    // Marked processes may have started them: scan once the marked processes have ended.
    if (pids.length === 0) for (const id of userIds) pids.push(...(await findEscaped(id)))
    emptyScans = pids.length === 0 ? emptyScans + 1 : 0
    if (pids.length > 0 && performance.now() > untilMs)
      throw new Error(`processes ${pids.join(', ')} were killed and do not end`)
    for (const pid of pids) {
      signal(pid, 'SIGKILL')
      ended.add(pid)
    }
    if (emptyScans < EMPTY_SCANS) await delay(POLL_MS)
  }
  return ended
}
