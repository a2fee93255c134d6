import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { type Cgroup, toEnter } from '../../../lib/process/cgroup.ts'
import { killTree } from '../../../lib/process/kill-tree.ts'
import { preferOomKill } from '../../../lib/process/oom-score.ts'
import { createWatchdog } from '../../../lib/process/watchdog.ts'

/** Where work tells what it says, and what ends it. */
export interface Work {
  /** Takes what the programs write, as it comes. */
  readonly onOutput: (text: string) => void
  /** Ends the work and every process of it. */
  readonly signal: AbortSignal
  /** All it may take. */
  readonly timeoutMs?: number
}

export interface CommandOptions {
  readonly cwd: string
  /** All of it: nothing of this process's own comes along. */
  readonly env: Readonly<Record<string, string>>
  /** Takes what it writes to standard error, and to standard output unless `onStdout` is there. */
  readonly onOutput: (text: string) => void
  readonly onStdout?: (text: string) => void
  readonly signal: AbortSignal
  /** Control group the program runs in. @default that of this process */
  readonly group?: Cgroup | undefined
  /** What it, and all it begins, may take; it is killed when it takes more. @default as much as there is */
  readonly bounds?: { readonly memoryBytes: number; readonly processes: number }
}

/** How a program ended. */
export interface CommandEnd {
  readonly isDone: boolean
  /** `exit status 1`, `SIGKILL`. */
  readonly how: string
  /** The last of what it wrote, a few thousand characters. */
  readonly tail: string
}

/** Milliseconds between two looks at what programs take. */
const LOOK_MS = 1000
const watchdog = createWatchdog(LOOK_MS)
/** What the shell says where there is no such program. */
const NO_PROGRAM = 127
const TAIL_CHARS = 4096
/** How long what it wrote may take to be read once it has ended: something that left its group may hold its outputs for ever. */
const READ_MS = 2000
/**
 * Becomes the program, which leads the group; beside it something waits that kills the group when this process ends, however
 * it ends.
 */
const TIED = '(read -r _ <&3 || kill -9 -$$) >/dev/null 2>&1 & exec "$@" 3<&-'

/**
 * Runs a program to its end, in a process group of its own of which nothing is left then.
 *
 * @throws {Error} when it cannot be started, or the reason of `signal`.
 */
export async function runCommand(
  command: readonly string[],
  { cwd, env, onOutput, onStdout, signal, group, bounds }: CommandOptions,
): Promise<CommandEnd> {
  signal.throwIfAborted()
  const tied = ['/bin/sh', '-c', TIED, 'sh', ...command]
  const [first, ...rest] = [...(group === undefined ? [] : toEnter(group)), ...tied]
  const child = spawn(first!, rest, {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  if (child.pid !== undefined) preferOomKill(child.pid)
  const tie = child.stdio[3] as Writable
  // Already gone with its process, at times.
  tie.on('error', () => {})
  let tail = ''
  const keep = (text: string): void => {
    tail = (tail + text).slice(-TAIL_CHARS)
    onOutput(text)
  }
  child.stdout!.setEncoding('utf8').on('data', onStdout ?? keep)
  child.stderr!.setEncoding('utf8').on('data', keep)
  let late: NodeJS.Timeout | undefined
  const killGroup = (): void => {
    try {
      // What waits beside the program keeps the number of the group taken until then.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {}
  }
  const end = (): void => {
    killGroup()
    late = setTimeout(() => {
      child.stdout!.destroy()
      child.stderr!.destroy()
    }, READ_MS)
  }
  let excess: string | undefined
  const onExcess = (what: string): void => {
    excess = `it ${what}`
    killGroup()
  }
  const isWatched = bounds !== undefined && child.pid !== undefined
  const watch = isWatched ? watchdog.watch({ ...bounds, pid: child.pid!, onExcess }) : undefined
  signal.addEventListener('abort', killGroup, { once: true })
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', end)
      child.once('close', (code, by) => {
        if (signal.aborted) reject(signal.reason)
        const exit = code === NO_PROGRAM ? 'there is no such program' : `exit status ${code}`
        resolve({
          isDone: code === 0 && excess === undefined,
          how: excess ?? by ?? exit,
          tail: tail.trim(),
        })
      })
    })
  } finally {
    clearTimeout(late)
    if (watch !== undefined) await killTree(watch)
    watch?.end()
    signal.removeEventListener('abort', killGroup)
    tie.destroy()
  }
}
