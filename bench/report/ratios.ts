import type { Machine } from '../http/machine.ts'

/** CPU per request of mx against another program, as it was when recorded. */
export interface Recorded {
  /** ISO 8601. */
  readonly date: string
  /** Name of the other program. */
  readonly against: string
  readonly machine: Machine
  /** By scenario. */
  readonly ratios: Readonly<Record<string, number>>
}

/** A ratio may be worse than the recorded one by this share: more is no noise. */
const TOLERANCE = 0.15

/** What is to be kept of a run. */
export function toRecorded(
  against: string,
  ratios: Readonly<Record<string, number>>,
  machine: Machine,
): Recorded {
  const rounded = Object.fromEntries(
    Object.entries(ratios).map(([name, ratio]) => [name, Math.round(ratio * 1000) / 1000]),
  )
  return { date: new Date().toISOString(), against, machine, ratios: rounded }
}

/**
 * Holds a run against the record, a line per scenario.
 *
 * @throws {Error} when the two were not measured against the same program.
 */
export function compareRatios(
  recorded: Recorded,
  now: Recorded,
): { readonly lines: readonly string[]; readonly passed: boolean } {
  if (recorded.against !== now.against) {
    throw new Error(
      `recorded against ${recorded.against}, measured against ${now.against}: the two cannot be compared`,
    )
  }
  let passed = true
  const lines = Object.entries(recorded.ratios).map(([name, before]) => {
    const ratio = now.ratios[name]
    const limit = before * (1 + TOLERANCE)
    // Not measured is not passed, and neither is NaN.
    const isFine = ratio !== undefined && ratio <= limit
    if (!isFine) passed = false
    const figure = ratio === undefined ? 'not measured' : ratio.toFixed(2)
    return `${isFine ? 'ok  ' : 'FAIL'} ${name}: ${figure} x ${now.against}, recorded ${before.toFixed(2)}, limit ${limit.toFixed(2)}`
  })
  for (const [name, ratio] of Object.entries(now.ratios)) {
    if (Object.hasOwn(recorded.ratios, name)) continue
    passed = false
    const figure = `${ratio.toFixed(2)} x ${now.against}`
    lines.push(`FAIL ${name}: ${figure}, nothing is recorded: npm run bench guard -- --record`)
  }
  if (recorded.machine.cpu !== now.machine.cpu) {
    lines.push(`note: recorded on ${recorded.machine.cpu}, this is ${now.machine.cpu}`)
  }
  return { lines, passed }
}
