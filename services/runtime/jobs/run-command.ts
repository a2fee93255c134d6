import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { type Cgroup, toEnterCommand } from '../../../lib/process/cgroup.ts'
import { killTree } from '../../../lib/process/kill-tree.ts'
import { preferOomKill } from '../../../lib/process/oom-score.ts'
import { createWatchdog } from '../../../lib/process/watchdog.ts'

/** Output and cancellation of a job. */
export interface Work {
  /** Called with output as it is written. */
  readonly onOutput: (text: string) => void
  /** Aborts the job and all its processes. */
  readonly signal: AbortSignal
  /** Timeout in milliseconds. */
  readonly timeoutMs?: number
}

export interface CommandOptions {
  readonly cwd: string
  /** Complete environment. Nothing is inherited from this process. */
  readonly env: Readonly<Record<string, string>>
  /** Receives standard error, and also standard output if `onStdout` is not set. */
  readonly onOutput: (text: string) => void
  readonly onStdout?: (text: string) => void
  readonly signal: AbortSignal
  /** Control group of the program. @default the group of this process */
  readonly group?: Cgroup | undefined
  /** Limits for the process tree, which is killed if it exceeds them. @default none */
  readonly bounds?: { readonly memoryBytes: number; readonly processes: number }
}

/** Result of a command. */
export interface CommandEnd {
  readonly isDone: boolean
  readonly outcome: string
  /** End of the output, a few thousand characters. */
  readonly tail: string
}

/** Interval between checks of resource usage in milliseconds. */
const CHECK_MS = 1000
const watchdog = createWatchdog(CHECK_MS)
/** Exit status that the shell returns if the program does not exist. */
const NO_PROGRAM = 127
const TAIL_CHARS = 4096
/**
 * Timeout for reading the output after the command has ended, because a process that left the group
 * may keep the pipes open.
 */
const READ_MS = 2000
/**
 * Executes the program as the leader of the group. A watcher process kills the group when this
 * process ends for any reason.
 */
const WATCHED_COMMAND = '(read -r _ <&3 || kill -9 -$$) >/dev/null 2>&1 & exec "$@" 3<&-'

/**
 * Runs a command to completion in its own process group, which is killed afterwards.
 *
 * @throws {Error} if the command cannot be started, or the reason of `signal`.
 */
export async function runCommand(
  command: readonly string[],
  { cwd, env, onOutput, onStdout, signal, group, bounds }: CommandOptions,
): Promise<CommandEnd> {
  signal.throwIfAborted()
  const watchedCommand = ['/bin/sh', '-c', WATCHED_COMMAND, 'sh', ...command]
  const [first, ...rest] = [
    ...(group === undefined ? [] : toEnterCommand(group)),
    ...watchedCommand,
  ]
  const child = spawn(first!, rest, {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  if (child.pid !== undefined) preferOomKill(child.pid)
  const watchdogPipe = child.stdio[3] as Writable
  // The pipe may already be closed because its process has ended.
  watchdogPipe.on('error', () => {})
  let tail = ''
  const append = (text: string): void => {
    tail = (tail + text).slice(-TAIL_CHARS)
    onOutput(text)
  }
  child.stdout!.setEncoding('utf8').on('data', onStdout ?? append)
  child.stderr!.setEncoding('utf8').on('data', append)
  let readTimer: NodeJS.Timeout | undefined
  const killGroup = (): void => {
    try {
      // Until then, the watcher keeps the process group id in use.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {}
  }
  const end = (): void => {
    killGroup()
    readTimer = setTimeout(() => {
      child.stdout!.destroy()
      child.stderr!.destroy()
    }, READ_MS)
  }
  let excess: string | undefined
  const onExcess = (exceeded: string): void => {
    excess = `it ${exceeded}`
    killGroup()
  }
  const isLimited = bounds !== undefined && child.pid !== undefined
  const watch = isLimited ? watchdog.watch({ ...bounds, pid: child.pid!, onExcess }) : undefined
  signal.addEventListener('abort', killGroup, { once: true })
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', end)
      child.once('close', (code, by) => {
        if (signal.aborted) reject(signal.reason)
        const exit = code === NO_PROGRAM ? 'program not found' : `exit status ${code}`
        resolve({
          isDone: code === 0 && excess === undefined,
          outcome: excess ?? by ?? exit,
          tail: tail.trim(),
        })
      })
    })
  } finally {
    clearTimeout(readTimer)
    if (watch !== undefined) await killTree(watch)
    watch?.end()
    signal.removeEventListener('abort', killGroup)
    watchdogPipe.destroy()
  }
}
