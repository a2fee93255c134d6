import { parseArgs } from 'node:util'

/** Intensity and duration of failures. */
export interface FaultOptions {
  /** Requests per second. */
  readonly rate: number
  /** Duration of the measurement in seconds, before and during failures. */
  readonly seconds: number
  /** Duration of a Consul outage in seconds. */
  readonly outageSeconds: number
  /** Duration of the measurement after the outage in seconds; longer than the retention of missing nodes (95 s). */
  readonly afterSeconds: number
  /** Response time of a slow Consul in milliseconds. */
  readonly delayMs: number
  /** Duration of a burst of registrations in seconds; the rate is `perSecond`. */
  readonly burstSeconds: number
  readonly perSecond: number
}

const DEFAULTS = {
  rate: '500',
  seconds: '10',
  outage: '60',
  after: '110',
  delay: '2000',
  burst: '30',
  'per-second': '1000',
}

/**
 * Parses `[scenario...] --rate n --seconds n --outage s --after s --delay ms --burst s --per-second n`.
 *
 * @throws {RangeError} naming the invalid argument and the valid values.
 */
export function parseFaultOptions(
  args: readonly string[],
  scenarioNames: readonly string[],
): { readonly names: readonly string[]; readonly options: FaultOptions } {
  const { values, positionals } = readArgs(args)
  for (const name of positionals) {
    if (!scenarioNames.includes(name))
      throw new RangeError(
        `scenario must be one of ${scenarioNames.join(', ')}, got ${JSON.stringify(name)}`,
      )
  }
  const read = (flag: keyof typeof DEFAULTS): number => {
    const text = values[flag] ?? DEFAULTS[flag]
    const value = Number(text)
    if (Number.isInteger(value) && value >= 1 && value <= 100_000) return value
    throw new RangeError(
      `--${flag} must be a whole number from 1 to 100000, got ${JSON.stringify(text)}`,
    )
  }
  return {
    names:
      positionals.length === 0
        ? scenarioNames
        : scenarioNames.filter((name) => positionals.includes(name)),
    options: {
      rate: read('rate'),
      seconds: read('seconds'),
      outageSeconds: read('outage'),
      afterSeconds: read('after'),
      delayMs: read('delay'),
      burstSeconds: read('burst'),
      perSecond: read('per-second'),
    },
  }
}

function readArgs(args: readonly string[]) {
  const text = { type: 'string' } as const
  const options = {
    rate: text,
    seconds: text,
    outage: text,
    after: text,
    delay: text,
    burst: text,
    'per-second': text,
  }
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (error) {
    throw new RangeError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}
