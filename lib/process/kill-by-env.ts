import { setTimeout as delay } from 'node:timers/promises'
import { findEscaped, findMarked, signal } from './processes.ts'

/** How long what was killed takes to be gone, at most. */
const KILLED_MS = 5000
const POLL_MS = 20
/** One that is just becoming another program (execve) shows no variables for a moment. */
const LOOKS_IN_VAIN = 2

/**
 * Kills the processes that were started with one of these variables, each written `NAME=value`, and those with one of these sources
 * of mounts ({@link findMarked}), until there are none.
 *
 * @param userIds users of the programs; their processes that left the view of their program are killed as well ({@link findEscaped}).
 * @returns the processes that were there.
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
  for (let inVain = 0; inVain < LOOKS_IN_VAIN; ) {
    const pids = [...(await findMarked(variables, mountSources))]
    // What was started with a mark may have started them: look once it has ended.
    if (pids.length === 0) for (const id of userIds) pids.push(...(await findEscaped(id)))
    inVain = pids.length === 0 ? inVain + 1 : 0
    if (pids.length > 0 && performance.now() > untilMs)
      throw new Error(`processes ${pids.join(', ')} were killed and do not end`)
    for (const pid of pids) {
      signal(pid, 'SIGKILL')
      ended.add(pid)
    }
    if (inVain < LOOKS_IN_VAIN) await delay(POLL_MS)
  }
  return ended
}
