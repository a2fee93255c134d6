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

/** Those that were started with one of these variables, each written `NAME=value`, or by one that was. */
export async function findByVariable(variables: readonly string[]): Promise<readonly number[]> {
  const marks = variables.map((variable) => Buffer.from(`\0${variable}\0`))
  const found: number[] = []
  if (marks.length === 0) return found
  await forEachPid((pid) => {
    const own = readOf(pid, 'environ')
    if (own === undefined || pid === process.pid) return
    const environment = Buffer.concat([NUL, own])
    if (marks.some((mark) => environment.includes(mark))) found.push(pid)
  })
  return found
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
