import { setTimeout as delay } from 'node:timers/promises'
import { settlesWithin } from '../../../lib/async/timeout.ts'
import { readProcesses, signal } from '../../../lib/process/processes.ts'

/** Maximum time in milliseconds for killed processes to disappear. */
const KILL_TIMEOUT_MS = 5000
const POLL_MS = 20

/**
 * Ends a process group: sends SIGTERM to its leader, which may forward it, then to the rest of the
 * group, and SIGKILL to all remaining processes after `graceMs`.
 *
 * @param exited resolves when the leader has exited.
 * @returns whether the group ended without SIGKILL.
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

/**
 * A group that contains only zombies counts as ended; an init process that does not reap may leave
 * them.
 */
async function isGroupAlive(group: number): Promise<boolean> {
  if (!signal(-group, 0)) return false
  const processes = await readProcesses()
  return processes.length === 0 || processes.some((info) => info.group === group)
}
