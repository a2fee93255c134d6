import { setTimeout as delay } from 'node:timers/promises'
import { settlesWithin } from '../../../lib/async/timeout.ts'
import { readProcesses, signal } from '../../../lib/process/processes.ts'

/** How long what was killed takes to be gone, at most. */
const KILLED_MS = 5000
const POLL_MS = 20

/**
 * Ends a process that leads a group, and the group: SIGTERM for the process, which may pass it on itself, then for what is left
 * of the group; SIGKILL for all that are there after `graceMs`.
 *
 * @param exited resolves once the process has ended.
 * @returns whether it ended without being killed.
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
      if (await isGroupGoneBy(pid, untilMs)) return true
    }
  }
  signal(-pid, 'SIGKILL')
  await settlesWithin(exited, KILLED_MS)
  await isGroupGoneBy(pid, performance.now() + KILLED_MS)
  return false
}

async function isGroupGoneBy(group: number, untilMs: number): Promise<boolean> {
  while (await isGroupAlive(group)) {
    if (performance.now() >= untilMs) return false
    await delay(POLL_MS)
  }
  return true
}

/** A group whose processes only wait to be forgotten, as where init does not care for them, has ended. */
async function isGroupAlive(group: number): Promise<boolean> {
  if (!signal(-group, 0)) return false
  const processes = await readProcesses()
  return processes.length === 0 || processes.some((info) => info.group === group)
}
