import { type ProcessInfo, readProcesses } from './processes.ts'

/** A program that is watched, with all it began. */
export interface Watched {
  /** Its first process, which leads its group. */
  readonly pid: number
  /** Undefined: as much as there is. */
  readonly memoryBytes: number | undefined
  readonly processes: number
  /** Takes more than it may, told with what; once. */
  readonly onExcess: (what: string) => void
}

/** Looks after what programs take, where nothing else bounds it. */
export interface Watchdog {
  /** Returns what ends the watch. */
  readonly watch: (program: Watched) => () => void
}

const MIB = 1024 * 1024

/** @param everyMs how often it looks; it does not while there is nothing to watch. */
export function createWatchdog(everyMs: number): Watchdog {
  const copies = new Set<Watched>()
  let isLooking = false

  async function look(): Promise<void> {
    const owners = findOwners(await readProcesses(), copies)
    for (const copy of copies) {
      const excess = toExcess(copy, owners.get(copy.pid) ?? [])
      if (excess === undefined) continue
      copies.delete(copy)
      copy.onExcess(excess)
    }
    isLooking = copies.size > 0
    if (isLooking) wait()
  }
  const wait = () => setTimeout(() => void look(), everyMs).unref()

  return {
    watch(copy) {
      copies.add(copy)
      if (!isLooking) wait()
      isLooking = true
      return () => copies.delete(copy)
    },
  }
}

function toExcess(copy: Watched, processes: readonly ProcessInfo[]): string | undefined {
  const bytes = processes.reduce((sum, { residentBytes }) => sum + residentBytes, 0)
  if (copy.memoryBytes !== undefined && bytes > copy.memoryBytes)
    return `took ${toMib(bytes)} of memory, and may take ${toMib(copy.memoryBytes)}`
  if (processes.length > copy.processes)
    return `had ${processes.length} processes, and may have ${copy.processes}`
  return
}

function toMib(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`
}

/** Processes of each copy: of its group, or begun by one of its own. */
function findOwners(
  processes: readonly ProcessInfo[],
  copies: ReadonlySet<Watched>,
): ReadonlyMap<number, readonly ProcessInfo[]> {
  const owned = new Map<number, ProcessInfo[]>([...copies].map(({ pid }) => [pid, []]))
  const byPid = new Map(processes.map((info) => [info.pid, info]))
  for (const info of processes) {
    let at: ProcessInfo | undefined = info
    while (at !== undefined && !owned.has(at.group) && !owned.has(at.pid)) at = byPid.get(at.parent)
    if (at !== undefined) (owned.get(at.group) ?? owned.get(at.pid))!.push(info)
  }
  return owned
}
