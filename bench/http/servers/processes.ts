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

/** Processors a program is held on; none: wherever the system likes. */
export type Cores = readonly number[]

/** Whether programs can be held on a processor of their own, apart from the one that loads them. */
export const CAN_PIN: boolean = availableParallelism() > 1 && isInstalled('taskset')
/** Where what is measured runs, and where everything else does. */
export const MEASURED_CORES: Cores = CAN_PIN ? [0] : []
export const OTHER_CORES: Cores = CAN_PIN ? [1] : []

/** A started program, with the processes it started itself. */
export interface Program {
  readonly pid: number
  /** What it wrote last, when something goes wrong. */
  readonly output: () => string
  /** All it wrote. */
  readonly log: () => string
  readonly exited: () => boolean
  readonly stop: () => Promise<void>
}

/** Whether a command can be started. */
export function isInstalled(command: string): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'command -v "$0"', command], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** The command with its processors in front. */
export function toPinned(command: readonly string[], cores: Cores): readonly string[] {
  return cores.length === 0 ? command : ['taskset', '-c', cores.join(','), ...command]
}

/** Starts a program in a process group of its own. Its output goes to a file: a pipe would have to be read while measuring. */
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
  const isGone = () => spawnError !== '' || child.exitCode !== null || child.signalCode !== null
  const signal = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name)
    } catch {
      // The group is gone already.
    }
  }
  const onExit = () => signal('SIGKILL')
  process.once('exit', onExit)
  return {
    pid: child.pid ?? 0,
    output: () => spawnError || readFileSync(file, 'utf8').slice(-2000),
    log: () => readFileSync(file, 'utf8'),
    exited: isGone,
    async stop() {
      if (!isGone()) {
        const gone = once(child, 'exit')
        signal('SIGTERM')
        const timer = setTimeout(() => signal('SIGKILL'), 3000)
        await gone
        clearTimeout(timer)
      }
      // Workers may outlive their parent.
      signal('SIGKILL')
      process.off('exit', onExit)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A fresh temporary folder; whoever asks removes it. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mx-bench-'))
  // Started by root, nginx gives its workers to another user, who must get in.
  chmodSync(folder, 0o755)
  return folder
}

/** A port of 127.0.0.1 that is free now. */
export async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** What the system knows about a program, its child processes included. */
export interface Usage {
  /** User and system time since it started. */
  readonly cpuMs: number
  readonly rssBytes: number
  /** The most there was at a time; of several processes the sum. */
  readonly peakBytes: number
  readonly files: number
}

const TICK_MS =
  1000 / Number(tryRead(() => execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) ?? 100)
const PAGE_BYTES = Number(
  tryRead(() => execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' })) ?? 4096,
)

/** Reads `/proc` (Linux): proc(5), `stat`, `statm` and `status`. */
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

/** User and system time of one process since it started, milliseconds: of the processes it started nothing. */
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

/** Fields of `/proc/<pid>/stat` behind the name, which may hold blanks and parentheses itself. */
function readStat(pid: number): readonly string[] | undefined {
  const text = tryRead(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')
}

/** Processes end while they are looked at. */
function tryRead<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
