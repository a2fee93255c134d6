import { readdirSync, readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** A process of this machine. */
export interface ProcessInfo {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** When it began, in a unit of the system's own: with the pid it tells a process from all others since the machine started. */
  readonly start: string
  readonly residentBytes: number
}

const PAGE_BYTES = 4096
/** Processes looked at before others have their turn. */
const SLICE = 32
const NUL = Buffer.from('\0')
const NUMBER = /^\d+$/

/** A process, by `/proc`; undefined: it is not there, or ended and only not yet forgotten. */
export function readProcess(pid: number): ProcessInfo | undefined {
  const text = readOf(pid, 'stat')?.toString('latin1')
  return text === undefined ? undefined : parseStat(text)
}

/** What `/proc/<pid>/stat` says (proc(5)); undefined: it is dead. The name of the program, in brackets, may hold anything. */
export function parseStat(text: string): ProcessInfo | undefined {
  const end = text.lastIndexOf(')')
  const fields = text.slice(end + 2).split(' ')
  const [state, parent, group] = fields
  if (state === undefined || 'ZX'.includes(state)) return undefined
  return {
    pid: Number.parseInt(text, 10),
    parent: Number(parent),
    group: Number(group),
    start: fields[19]!,
    residentBytes: Number(fields[21]) * PAGE_BYTES,
  }
}

/** All processes of the machine; none where it has no `/proc`. */
export async function readProcesses(): Promise<readonly ProcessInfo[]> {
  const found: ProcessInfo[] = []
  await forEachPid((pid) => {
    const info = readProcess(pid)
    if (info !== undefined) found.push(info)
  })
  return found
}

/**
 * Finds processes by variables they were started with, each written `NAME=value`, and by sources of file systems in memory that
 * are mounted for them. A process can clear its variables; without privileges it cannot remove mounts.
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

function hasVariable(pid: number, marks: readonly Buffer[]): boolean {
  const own = readOf(pid, 'environ')
  if (own === undefined) return false
  const environment = Buffer.concat([NUL, own])
  return marks.some((mark) => environment.includes(mark))
}

function hasMount(pid: number, mounts: readonly string[]): boolean {
  if (mounts.length === 0) return false
  const table = readOf(pid, 'mountinfo')
  return table !== undefined && mounts.some((mount) => table.includes(mount))
}

/** Signals a process, or with a negative number its group; whether there was one. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name)
    return true
  } catch {
    return false
  }
}

async function forEachPid(look: (pid: number) => void): Promise<void> {
  let looked = 0
  for (const name of listProc()) {
    if (!NUMBER.test(name)) continue
    look(Number(name))
    if (++looked % SLICE === 0) await nextTurn()
  }
}

function listProc(): readonly string[] {
  try {
    return readdirSync('/proc')
  } catch {
    return []
  }
}

function readOf(pid: number, file: string): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`)
  } catch {
    return undefined
  }
}
