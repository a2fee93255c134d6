import { type ProcessInfo, readProcesses } from './processes.ts'

/** A watched program with all processes that it started. */
export interface Watched {
  /** First process of the program, the leader of its process group. */
  readonly pid: number
  /** Undefined if unlimited. */
  readonly memoryBytes: number | undefined
  readonly processes: number
  /** Called once with the exceeded limit. */
  readonly onExcess: (excess: string) => void
}

export interface Watch {
  readonly end: () => void
  /**
   * Lists current processes of the program: its group, its descendants, and descendants from an earlier scan whose
   * parents have since ended.
   */
  readonly list: () => Promise<readonly ProcessInfo[]>
}

/** Enforces limits that the kernel does not enforce. */
export interface Watchdog {
  readonly watch: (program: Watched) => Watch
}

/** A program and the processes found so far: pid and start time, because pids are reused. */
interface Tracked extends Watched {
  readonly found: Map<number, string>
}

const MIB = 1024 * 1024

/** @param everyMs interval between scans. No scans run while nothing is watched. */
export function createWatchdog(everyMs: number): Watchdog {
  const programs = new Set<Tracked>()
  let isScanning = false

  async function scan(): Promise<void> {
    const owned = track(await readProcesses(), programs)
    for (const program of programs) {
      const excess = describeExcess(program, owned.get(program) ?? [])
      if (excess === undefined) continue
      programs.delete(program)
      program.onExcess(excess)
    }
    isScanning = programs.size > 0
    if (isScanning) wait()
  }
  const wait = () => setTimeout(() => void scan(), everyMs).unref()

  return {
    watch(watched) {
      const program = { ...watched, found: new Map<number, string>() }
      programs.add(program)
      if (!isScanning) wait()
      isScanning = true
      return {
        end: () => programs.delete(program),
        list: async () => track(await readProcesses(), [program]).get(program) ?? [],
      }
    },
  }
}

function describeExcess(program: Watched, processes: readonly ProcessInfo[]): string | undefined {
  const bytes = processes.reduce((sum, { residentBytes }) => sum + residentBytes, 0)
  if (program.memoryBytes !== undefined && bytes > program.memoryBytes)
    return `used ${toMib(bytes)} of memory, limit ${toMib(program.memoryBytes)}`
  if (processes.length > program.processes)
    return `had ${processes.length} processes, limit ${program.processes}`
  return
}

function toMib(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`
}

/** Assigns processes to programs and records them for the next scan. */
function track(
  processes: readonly ProcessInfo[],
  programs: Iterable<Tracked>,
): ReadonlyMap<Tracked, readonly ProcessInfo[]> {
  const byPid = new Map(processes.map((info) => [info.pid, info]))
  const leaders = new Map<number, Tracked>()
  const earlier = new Map<number, Tracked>()
  for (const program of programs) {
    leaders.set(program.pid, program)
    for (const [pid, start] of program.found)
      if (byPid.get(pid)?.start === start) earlier.set(pid, program)
    program.found.clear()
  }
  const owned = new Map<Tracked, ProcessInfo[]>()
  for (const info of processes) {
    let at: ProcessInfo | undefined = info
    let owner: Tracked | undefined
    while (at !== undefined && owner === undefined) {
      owner = leaders.get(at.group) ?? leaders.get(at.pid) ?? earlier.get(at.pid)
      at = byPid.get(at.parent)
    }
    if (owner === undefined) continue
    owner.found.set(info.pid, info.start)
    const list = owned.get(owner)
    if (list === undefined) owned.set(owner, [info])
    else list.push(info)
  }
  return owned
}
