import { parseArgs } from 'node:util'
import { RIVALS } from '../rivals/all.ts'
import type { Rival } from '../rivals/rival.ts'
import type { Scenario } from './scenario.ts'
import { SCENARIOS } from './scenarios.ts'

/** Measurements of `npm run bench`; the first is the default. */
export const MEASUREMENTS = [
  'scenarios',
  'memory',
  'soak',
  'streams',
  'latency',
  'workers',
  'services',
  'flap',
] as const

/** Options of a measurement. */
export interface BenchOptions {
  readonly measurement: (typeof MEASUREMENTS)[number]
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  /** Number of requests in a soak test, or of messages in a stream. */
  readonly requests: number
  readonly scenarios: readonly Scenario[]
  /** Installed rivals, in table order. */
  readonly rivals: readonly Rival[]
  /** Called at the start of each step. */
  readonly onStep: (step: string) => void
}

/**
 * Parses `[measurement] --rounds n --seconds n --connections n --requests n --scenario a,b --only nginx,mx`.
 *
 * @throws {RangeError} naming the invalid argument and the valid values.
 */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = readArgs(args)
  const measurement = MEASUREMENTS.find((each) => each === (positionals[0] ?? 'scenarios'))
  if (measurement === undefined || positionals.length > 1) {
    throw new RangeError(
      `measurement must be one of ${MEASUREMENTS.join(', ')}, got ${JSON.stringify(positionals.join(' '))}`,
    )
  }
  return {
    measurement,
    rounds: toCount('--rounds', values.rounds ?? '3', 99),
    seconds: toCount('--seconds', values.seconds ?? '5', 600),
    connections: toCount('--connections', values.connections ?? '64', 10_000),
    requests: toCount('--requests', values.requests ?? '1000000', 1e9),
    scenarios: pick('--scenario', values.scenario, SCENARIOS),
    rivals: pick('--only', values.only, RIVALS).filter((rival) => rival.version() !== undefined),
    onStep: (step) => process.stderr.write(`${step}\n`),
  }
}

function readArgs(args: readonly string[]) {
  const text = { type: 'string' } as const
  const options = {
    rounds: text,
    seconds: text,
    connections: text,
    requests: text,
    scenario: text,
    only: text,
  }
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (error) {
    throw new RangeError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

function toCount(flag: string, text: string, max: number): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1 || count > max) {
    throw new RangeError(
      `${flag} must be a whole number from 1 to ${max}, got ${JSON.stringify(text)}`,
    )
  }
  return count
}

function pick<T extends { readonly name: string }>(
  flag: string,
  text: string | undefined,
  all: readonly T[],
): readonly T[] {
  if (text === undefined) return all
  const names = text.split(',')
  for (const name of names) {
    if (!all.some((each) => each.name === name)) {
      throw new RangeError(
        `${flag} must be one or more of ${all.map((each) => each.name).join(', ')}, got ${JSON.stringify(name)}`,
      )
    }
  }
  return all.filter((each) => names.includes(each.name))
}
