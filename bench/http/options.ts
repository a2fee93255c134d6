import { parseArgs } from 'node:util'
import { RIVALS } from '../rivals/all.ts'
import type { Rival } from '../rivals/rival.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'

/** What to measure, and how long. */
export interface BenchOptions {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly scenarios: readonly Scenario[]
  /** Installed ones, in the order of the table. */
  readonly rivals: readonly Rival[]
}

/**
 * Reads `--rounds n --seconds n --connections n --scenario a,b --only nginx,mx`.
 *
 * @throws {RangeError} naming the flag that is wrong and what would be right.
 */
export function parseOptions(args: readonly string[], defaults: { scenarios?: readonly string[]; only?: readonly string[] } = {}): BenchOptions {
  const values = readArgs(args)
  const only = values.only ?? defaults.only?.join(',')
  return {
    rounds: toCount('--rounds', values.rounds ?? '3', 99),
    seconds: toCount('--seconds', values.seconds ?? '5', 600),
    connections: toCount('--connections', values.connections ?? '64', 10_000),
    scenarios: pick('--scenario', values.scenario ?? defaults.scenarios?.join(','), SCENARIOS),
    rivals: pick('--only', only, RIVALS).filter((rival) => rival.version() !== undefined),
  }
}

function readArgs(args: readonly string[]) {
  const text = { type: 'string' } as const
  try {
    return parseArgs({ args: [...args], options: { rounds: text, seconds: text, connections: text, scenario: text, only: text } }).values
  } catch (error) {
    throw new RangeError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

function toCount(flag: string, text: string, max: number): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1 || count > max) {
    throw new RangeError(`${flag} must be a whole number from 1 to ${max}, got ${JSON.stringify(text)}`)
  }
  return count
}

function pick<T extends { readonly name: string }>(flag: string, text: string | undefined, all: readonly T[]): readonly T[] {
  if (text === undefined) return all
  const names = text.split(',')
  for (const name of names) {
    if (!all.some((each) => each.name === name)) {
      throw new RangeError(`${flag} must name some of ${all.map((each) => each.name).join(', ')}, got ${JSON.stringify(name)}`)
    }
  }
  return all.filter((each) => names.includes(each.name))
}
