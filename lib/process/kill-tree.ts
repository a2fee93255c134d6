import { setTimeout as delay } from 'node:timers/promises'
import { settlesWithin } from '../async/timeout.ts'
import { type ProcessInfo, readProcess, signal } from './processes.ts'
import type { Watch } from './watchdog.ts'

const KILL_TIMEOUT_MS = 5000
const POLL_MS = 20
const FOLLOW_MS = 100

/**
 * Kills the processes of a program, including processes that left its group. They are stopped first, until a scan finds
 * no new one; otherwise a process could fork between scans and escape.
 *
 * @throws {Error} if some of them do not end.
 */
export async function killTree(watch: Pick<Watch, 'list'>): Promise<void> {
  const stopped = new Map<number, ProcessInfo>()
  const deadlineMs = performance.now() + KILL_TIMEOUT_MS
  for (;;) {
    const processes = await watch.list()
    const newProcesses = processes.filter(({ pid, start }) => stopped.get(pid)?.start !== start)
    if (newProcesses.length === 0 || performance.now() > deadlineMs) break
    for (const info of newProcesses) {
      signal(info.pid, 'SIGSTOP')
      stopped.set(info.pid, info)
    }
  }
  for (const pid of stopped.keys()) signal(pid, 'SIGKILL')
  for (const { pid, start } of stopped.values())
    while (readProcess(pid)?.start === start) {
      if (performance.now() > deadlineMs)
        throw new Error(`process ${pid} was killed but does not end`)
      await delay(POLL_MS)
    }
}

/**
 * Tracks the processes of a program while it ends, because a process whose parent has ended is no longer a descendant.
 */
export async function followTree(
  watch: Pick<Watch, 'list'>,
  exited: Promise<unknown>,
): Promise<void> {
  do await watch.list()
  while (!(await settlesWithin(exited, FOLLOW_MS)))
}
