import { median } from '../report/median.ts'
import type { Rival } from '../rivals/rival.ts'
import { type Measurement, measureRival } from './measure.ts'
import type { Scenario } from './scenario.ts'
import type { BackendPorts } from './servers/backend.ts'

export interface RoundsOptions {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly ports: BackendPorts
  /** Called at the start of each step. */
  readonly onStep?: (step: string) => void
}

/** Result of one rival in one scenario. */
export interface Row {
  readonly name: string
  readonly title: string
  readonly version: string
  readonly rounds: readonly Measurement[]
  /** Medians over all rounds. */
  readonly median: Measurement
  /** Median over all rounds of the CPU time per request, relative to the first rival of the same round. */
  readonly ratio: number
  /** Error, if the rival has no figures. */
  readonly problem?: string
}

const NO_MEASUREMENT: Measurement = {
  cpuMicros: Number.NaN,
  requestsPerSecond: Number.NaN,
  p50Ms: Number.NaN,
  p99Ms: Number.NaN,
  errors: 0,
  peakMiB: Number.NaN,
}

/**
 * Measures rivals in interleaved rounds, so that other load on the machine affects all of them.
 * Ratios are relative to the first rival.
 */
export async function runRounds(
  rivals: readonly Rival[],
  scenario: Scenario,
  options: RoundsOptions,
): Promise<readonly Row[]> {
  const measured = rivals.map(() => [] as Measurement[])
  const problems = new Map<Rival, string>()
  for (let round = 0; round < options.rounds; round++) {
    for (const [i, rival] of rivals.entries()) {
      if (problems.has(rival)) continue
      options.onStep?.(`${scenario.name}, round ${round + 1} of ${options.rounds}: ${rival.name}`)
      try {
        measured[i]!.push(await measureRival(rival, scenario, options.ports, options))
      } catch (error) {
        // A rival that fails to start must not prevent measuring the others.
        problems.set(rival, error instanceof Error ? error.message : String(error))
      }
    }
  }
  return rivals.map((rival, i) => toRow(rival, measured[i]!, measured[0]!, problems.get(rival)))
}

function toRow(
  rival: Rival,
  rounds: readonly Measurement[],
  base: readonly Measurement[],
  problem: string | undefined,
): Row {
  const toMedian = (read: (round: Measurement) => number) => median(rounds.map(read))
  const errors = rounds.reduce((sum, round) => sum + round.errors, 0)
  return {
    name: rival.name,
    title: rival.title,
    version: rival.version() ?? '',
    rounds,
    median:
      rounds.length === 0
        ? NO_MEASUREMENT
        : {
            cpuMicros: toMedian((round) => round.cpuMicros),
            requestsPerSecond: toMedian((round) => round.requestsPerSecond),
            p50Ms: toMedian((round) => round.p50Ms),
            p99Ms: toMedian((round) => round.p99Ms),
            errors,
            peakMiB: toMedian((round) => round.peakMiB),
          },
    ratio: median(rounds.map((round, i) => round.cpuMicros / (base[i]?.cpuMicros ?? Number.NaN))),
    ...(problem === undefined ? {} : { problem }),
  }
}
