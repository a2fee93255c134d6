import { setTimeout as delay } from 'node:timers/promises'
import { settlesWithin } from '../../../lib/async/timeout.ts'
import { readProcesses, signal } from '../../../lib/process/processes.ts'

/** Maximum time for killed processes to disappear in milliseconds. */
const KILL_TIMEOUT_MS = 5000
const POLL_MS = 20

/**
 * Ends a process group: SIGTERM to its leader, which may pass it on, then to the rest of the group; SIGKILL to all that are left
 * after `graceMs`.
 *
 * @param exited resolves when the leader exited.
 * @returns whether it ended without SIGKILL.
 */
export async function endGroup(
  pid: number,
  exited: Promise<unknown>,
  graceMs: number,
): Promise<boolean> {
  const untilMs = performance.now() + graceMs
  if (graceMs > 0) {
    signal(pid, 'SIGTERM')
    if (await settlesWithin(exited, graceMs)) {
      signal(-pid, 'SIGTERM')
      if (await hasGroupEndedBy(pid, untilMs)) return true
    }
  }
  signal(-pid, 'SIGKILL')
  await settlesWithin(exited, KILL_TIMEOUT_MS)
  await hasGroupEndedBy(pid, performance.now() + KILL_TIMEOUT_MS)
  return false
}

async function hasGroupEndedBy(group: number, untilMs: number): Promise<boolean> {
  while (await isGroupAlive(group)) {
    if (performance.now() >= untilMs) return false
    await delay(POLL_MS)
  }
  return true
}

/** A group of zombies only, as under an init that does not reap, has ended. */
async function isGroupAlive(group: number): Promise<boolean> {
  if (!signal(-group, 0)) return false
  const processes = await readProcesses()
  return processes.length === 0 || processes.some((info) => info.group === group)
}
