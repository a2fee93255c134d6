import type { Machine } from '../http/machine.ts'

/** A baseline: CPU time per request of mx relative to another program. */
export interface Recorded {
  /** ISO 8601 date. */
  readonly date: string
  /** Name of the other program. */
  readonly against: string
  readonly machine: Machine
  /** Ratios by scenario. */
  readonly ratios: Readonly<Record<string, number>>
}

/** Relative deviation from the baseline that counts as noise. */
const TOLERANCE = 0.15

/** Creates a baseline from a run. */
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
 * Compares a run with the baseline, one line per scenario.
 *
 * @throws {Error} if they are relative to different programs.
 */
export function compareRatios(
  recorded: Recorded,
  now: Recorded,
): { readonly lines: readonly string[]; readonly passed: boolean } {
  if (recorded.against !== now.against) {
    throw new Error(
      `not comparable: the baseline is relative to ${recorded.against}, this run to ${now.against}`,
    )
  }
  let passed = true
  const lines = Object.entries(recorded.ratios).map(([name, before]) => {
    const ratio = now.ratios[name]
    const limit = before * (1 + TOLERANCE)
    // Missing figures and NaN fail.
    const isWithinLimit = ratio !== undefined && ratio <= limit
    if (!isWithinLimit) passed = false
    const figure = ratio === undefined ? 'not measured' : ratio.toFixed(2)
    return `${isWithinLimit ? 'ok  ' : 'FAIL'} ${name}: ${figure} x ${now.against}, baseline ${before.toFixed(2)}, limit ${limit.toFixed(2)}`
  })
  for (const [name, ratio] of Object.entries(now.ratios)) {
    if (Object.hasOwn(recorded.ratios, name)) continue
    passed = false
    const figure = `${ratio.toFixed(2)} x ${now.against}`
    lines.push(`FAIL ${name}: ${figure}, no baseline: run npm run bench guard -- --record`)
  }
  if (recorded.machine.cpu !== now.machine.cpu) {
    lines.push(
      `note: the baseline was recorded on ${recorded.machine.cpu}, this machine has ${now.machine.cpu}`,
    )
  }
  return { lines, passed }
}
