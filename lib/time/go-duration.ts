const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}
/** A number and its unit. */
const PART = /(\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})(ns|us|µs|μs|ms|s|m|h)/y
const MAX_LENGTH = 256

/**
 * Parses a Go duration to milliseconds: `300ms`, `1.5h`, `-1h30m5s`, `0`. Returns undefined for other text.
 *
 * https://pkg.go.dev/time#ParseDuration
 */
export function parseGoDuration(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const sign = text.startsWith('-') ? -1 : 1
  const start = text.startsWith('-') || text.startsWith('+') ? 1 : 0
  if (text.slice(start) === '0') return 0
  let milliseconds = 0
  PART.lastIndex = start
  while (PART.lastIndex < text.length) {
    const [, amount, unit] = PART.exec(text) ?? []
    if (unit === undefined) return undefined
    milliseconds += Number(amount) * UNITS[unit]!
  }
  return text.length === start ? undefined : sign * milliseconds
}
