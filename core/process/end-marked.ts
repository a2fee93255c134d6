import { setTimeout as delay } from 'node:timers/promises'
import { findByVariable, signal } from './processes.ts'

/** How long what was killed takes to be gone, at most. */
const KILLED_MS = 5000
const POLL_MS = 20

/**
 * Kills what was started with one of these variables, each written `NAME=value`, and all it began, wherever that went.
 *
 * @returns the processes that were there.
 * @throws {Error} when some do not end.
 */
export async function endMarked(variables: readonly string[]): Promise<ReadonlySet<number>> {
  const ended = new Set<number>()
  const untilMs = performance.now() + KILLED_MS
  for (;;) {
    const pids = await findByVariable(variables)
    if (pids.length === 0) return ended
    if (performance.now() > untilMs)
      throw new Error(`processes ${pids.join(', ')} were killed and do not end`)
    for (const pid of pids) {
      signal(pid, 'SIGKILL')
      ended.add(pid)
    }
    await delay(POLL_MS)
  }
}
