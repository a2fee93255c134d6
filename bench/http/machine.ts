import { readFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { CAN_PIN } from './servers/processes.ts'

/** Machine of a measurement. Figures from different machines are not comparable. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly system: string
  readonly node: string
  /** True if the measured program had a dedicated processor. */
  readonly pinned: boolean
}

/** Describes this machine. */
export function readMachine(): Machine {
  const all = cpus()
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    system: readDistribution() ?? `${type()} ${release()}`,
    node: process.version,
    pinned: CAN_PIN,
  }
}

/** Distribution name from os-release(5). */
function readDistribution(): string | undefined {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]
  } catch {
    return undefined
  }
}

/** Formats a machine as one line of the results. */
export function formatMachine({ cpu, cores, memoryGiB, system, node, pinned }: Machine): string {
  const pinning = pinned
    ? 'the measured program on processor 0, wrk and the backend on processor 1'
    : 'no pinned processors: expect noise'
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}, Node.js ${node}; ${pinning}`
}
