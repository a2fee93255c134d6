import { readdirSync, readFileSync } from 'node:fs'
import { setImmediate as nextTick } from 'node:timers/promises'

/** A process on this machine. */
export interface ProcessInfo {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** Start time in system units, unique together with the pid until a reboot. */
  readonly start: string
  readonly residentBytes: number
}

const PAGE_BYTES = 4096
/** Number of processes read per event loop tick. */
const SLICE = 32
const NUL = Buffer.from('\0')
const NUMBER = /^\d+$/
/** Mount of a view. A view mounted by a program in a user namespace has its user in the options. */
const VIEW = / - tmpfs mx(?:-\S+)? (?!\S*\buid=)/

/** Reads a process from `/proc`. Returns undefined if it does not exist or is a zombie. */
export function readProcess(pid: number): ProcessInfo | undefined {
  const info = parseStat(readText(pid, 'stat'))
  if (info === undefined || info.residentBytes > 0) return info
  // If the first thread has ended, memory and views are listed for the other threads.
  const others = listThreads(pid).map((thread) => parseStat(readText(pid, `task/${thread}/stat`)))
  return {
    ...info,
    residentBytes: Math.max(0, ...others.map((other) => other?.residentBytes ?? 0)),
  }
}

/**
 * Parses `/proc/<pid>/stat` (proc(5)). Returns undefined if the process is dead. The program name, in parentheses, may
 * contain any character.
 *
 * A process whose first thread has ended is listed as a zombie but is still running.
 */
export function parseStat(text: string): ProcessInfo | undefined {
  const end = text.lastIndexOf(')')
  const fields = text.slice(end + 2).split(' ')
  const [state, parent, group] = fields
  const threads = Number(fields[17])
  if (!state || state === 'X' || (state === 'Z' && threads <= 1)) return undefined
  return {
    pid: Number.parseInt(text, 10),
    parent: Number(parent),
    group: Number(group),
    start: fields[19]!,
    residentBytes: Number(fields[21]) * PAGE_BYTES,
  }
}

/** Returns all processes of the machine; empty without `/proc`. */
export async function readProcesses(): Promise<readonly ProcessInfo[]> {
  const found: ProcessInfo[] = []
  await forEachPid((pid) => {
    const info = readProcess(pid)
    if (info !== undefined) found.push(info)
  })
  return found
}

/**
 * Finds processes by environment variables, in the form `NAME=value`, and by sources of their tmpfs mounts. A process
 * can clear its variables, but without privileges it cannot remove mounts.
 */
export async function findMarked(
  variables: readonly string[],
  mountSources: readonly string[] = [],
): Promise<readonly number[]> {
  const mounts = mountSources.map((source) => ` - tmpfs ${source} `)
  const marks = variables.map((variable) => Buffer.from(`\0${variable}\0`))
  const found: number[] = []
  if (marks.length === 0 && mounts.length === 0) return found
  await forEachPid((pid) => {
    if (pid !== process.pid && (hasVariable(pid, marks) || hasMount(pid, mounts))) found.push(pid)
  })
  return found
}

/**
 * Finds processes of a user that left the view they were started with (`sandbox/view.ts`). In a user namespace, a
 * program can change its root, and mounts are then no longer listed for it. Excludes processes started by a process
 * with a view, such as a browser with its own sandbox.
 *
 * @param userId user of isolated programs; a process without privileges cannot change it.
 */
export async function findEscaped(userId: number): Promise<readonly number[]> {
  const processes = (await readProcesses()).filter(({ pid }) => belongsTo(pid, userId))
  const parents = new Map(processes.map(({ pid, parent }) => [pid, parent]))
  const isEscaped = (pid: number): boolean => {
    const parent = parents.get(pid)
    return parent === undefined || (!hasView(pid) && isEscaped(parent))
  }
  return processes.map(({ pid }) => pid).filter(isEscaped)
}

function belongsTo(pid: number, userId: number): boolean {
  const [, ...ids] = /^Uid:\s+(\d+)\s+(\d+)\s+(\d+)/m.exec(readText(pid, 'status')) ?? []
  return ids.includes(String(userId))
}

function hasView(pid: number): boolean {
  const table = readAnyThreadFile(pid, 'mountinfo')
  // A process that is about to end has no mount table.
  return table === undefined || VIEW.test(table.toString('latin1'))
}

function hasVariable(pid: number, marks: readonly Buffer[]): boolean {
  const content = readAnyThreadFile(pid, 'environ')
  if (content === undefined) return false
  const environment = Buffer.concat([NUL, content])
  return marks.some((mark) => environment.includes(mark))
}

function hasMount(pid: number, mounts: readonly string[]): boolean {
  if (mounts.length === 0) return false
  const table = readAnyThreadFile(pid, 'mountinfo')
  return table !== undefined && mounts.some((mount) => table.includes(mount))
}

/** Signals a process, or its group if the number is negative. Returns whether it exists. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name)
    return true
  } catch {
    return false
  }
}

async function forEachPid(visit: (pid: number) => void): Promise<void> {
  let count = 0
  for (const name of listProc()) {
    if (!NUMBER.test(name)) continue
    visit(Number(name))
    if (++count % SLICE === 0) await nextTick()
  }
}

function listProc(): readonly string[] {
  try {
    return readdirSync('/proc')
  } catch {
    return []
  }
}

function listThreads(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/**
 * Reads a file of a process, or of another thread if the first one has ended, which then has neither variables nor
 * mounts.
 */
function readAnyThreadFile(pid: number, file: string): Buffer | undefined {
  const content = readProcFile(pid, file)
  if (content !== undefined && content.length > 0) return content
  for (const thread of listThreads(pid)) {
    const other = readProcFile(pid, `task/${thread}/${file}`)
    if (other !== undefined && other.length > 0) return other
  }
  return content
}

function readText(pid: number, file: string): string {
  return readProcFile(pid, file)?.toString('latin1') ?? ''
}

function readProcFile(pid: number, file: string): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`)
  } catch {
    return undefined
  }
}
