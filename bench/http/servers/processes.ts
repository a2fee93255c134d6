import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

/** Processors that a program is pinned to; empty if it is not pinned. */
export type Cores = readonly number[]

/** True if the measured program and the load generator can be pinned to different processors. */
export const CAN_PIN: boolean = availableParallelism() > 1 && isInstalled('taskset')
/** Processors of the measured program and of all other programs. */
export const MEASURED_CORES: Cores = CAN_PIN ? [0] : []
export const OTHER_CORES: Cores = CAN_PIN ? [1] : []

/** A running program and its child processes. */
export interface Program {
  readonly pid: number
  /** The last lines of the output, used in errors. */
  readonly output: () => string
  /** The complete output. */
  readonly log: () => string
  readonly exited: () => boolean
  readonly stop: () => Promise<void>
}

export function isInstalled(command: string): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'command -v "$0"', command], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Prefixes a command to pin it to processors. */
export function toPinned(command: readonly string[], cores: Cores): readonly string[] {
  return cores.length === 0 ? command : ['taskset', '-c', cores.join(','), ...command]
}

/**
 * Starts a program in a new process group. Its output goes to a file, because a pipe would have to be read during the
 * measurement.
 */
export function startProgram(
  command: readonly string[],
  cores: Cores,
  env: NodeJS.ProcessEnv = {},
): Program {
  const folder = createFolder()
  const file = join(folder, 'output.txt')
  const log = openSync(file, 'w')
  const [program, ...args] = toPinned(command, cores)
  const child: ChildProcess = spawn(program!, args, {
    stdio: ['ignore', log, log],
    detached: true,
    env: { ...process.env, ...env },
  })
  closeSync(log)
  let spawnError = ''
  child.on('error', (error) => {
    spawnError = error.message
  })
  const hasExited = () => spawnError !== '' || child.exitCode !== null || child.signalCode !== null
  const signal = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name)
    } catch {
      // The process group has already exited.
    }
  }
  const onExit = () => signal('SIGKILL')
  process.once('exit', onExit)
  return {
    pid: child.pid ?? 0,
    output: () => spawnError || readFileSync(file, 'utf8').slice(-2000),
    log: () => readFileSync(file, 'utf8'),
    exited: hasExited,
    async stop() {
      if (!hasExited()) {
        const exited = once(child, 'exit')
        signal('SIGTERM')
        const timer = setTimeout(() => signal('SIGKILL'), 3000)
        await exited
        clearTimeout(timer)
      }
      // Workers may outlive their parent process.
      signal('SIGKILL')
      process.off('exit', onExit)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Creates a temporary folder, which the caller must remove. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mx-bench-'))
  // If root starts nginx, its workers run as a different user.
  chmodSync(folder, 0o755)
  return folder
}

/** Finds a free port on 127.0.0.1. */
export async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Resource usage of a program including its child processes. */
export interface Usage {
  /** User and system time since the start, in milliseconds. */
  readonly cpuMs: number
  readonly rssBytes: number
  /** Peak resident memory; for several processes, the sum of their peaks. */
  readonly peakBytes: number
  readonly files: number
}

const TICK_MS =
  1000 / Number(tryRead(() => execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) ?? 100)
const PAGE_BYTES = Number(
  tryRead(() => execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' })) ?? 4096,
)

/** Reads `/proc` on Linux (proc(5): `stat`, `statm` and `status`). */
export function readUsage(pid: number): Usage {
  let ticks = 0
  let pages = 0
  let peakKiB = 0
  let files = 0
  for (const each of findTree(pid)) {
    const fields = readStat(each)
    if (fields === undefined) continue
    ticks += Number(fields[11]) + Number(fields[12])
    pages += Number(tryRead(() => readFileSync(`/proc/${each}/statm`, 'utf8'))?.split(' ')[1] ?? 0)
    const status = tryRead(() => readFileSync(`/proc/${each}/status`, 'utf8')) ?? ''
    peakKiB += Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0)
    files += tryRead(() => readdirSync(`/proc/${each}/fd`))?.length ?? 0
  }
  return { cpuMs: ticks * TICK_MS, rssBytes: pages * PAGE_BYTES, peakBytes: peakKiB * 1024, files }
}

/** Returns the user and system time of one process without its children, in milliseconds. */
export function readCpuMs(pid: number): number {
  const fields = readStat(pid)
  return fields === undefined ? Number.NaN : (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

function findTree(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const fields = /^\d+$/.test(name) ? readStat(Number(name)) : undefined
    if (fields !== undefined) parents.set(Number(name), Number(fields[1]))
  }
  const tree = [pid]
  for (const member of tree)
    for (const [child, parent] of parents) if (parent === member) tree.push(child)
  return tree
}

/** Reads the fields of `/proc/<pid>/stat` after the process name, which may contain spaces and parentheses. */
function readStat(pid: number): readonly string[] | undefined {
  const text = tryRead(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')
}

/** Returns undefined if the process has exited in the meantime. */
function tryRead<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
