const SIZES: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1024,
  mb: 1024 ** 2,
  gb: 1024 ** 3,
  tb: 1024 ** 4,
}
const DURATIONS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const SPAN_UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const
const AMOUNT = /^(\d{1,15}(?:\.\d{1,6})?) ?([a-z]*)$/

/**
 * Parses a size in bytes: `512`, `16kb`, `1.5gb`, case-insensitive, 1 kb = 1024 bytes. `none` means no limit
 * (`Infinity`).
 *
 * @throws {RangeError} with the accepted forms.
 */
export function parseSize(text: string | number): number {
  return parseAmount(text, SIZES, 'a size such as 512, 16kb, 100mb, 1gb or none')
}

/**
 * Parses a duration to milliseconds: `0`, `250ms`, `30s`, `5m`, `2h`, `1d`. The unit is required, since a bare `5`
 * means seconds in nginx and systemd but milliseconds in HAProxy. `none` means no limit (`Infinity`).
 *
 * @throws {RangeError} with the accepted forms.
 */
export function parseDuration(text: string | number): number {
  const expected = 'a duration such as 250ms, 30s, 5m, 2h or none'
  const bare = String(text).trim()
  if (/^0+(?:\.0+)?$/.test(bare)) return 0
  if (/^\d{1,15}(?:\.\d{1,6})?$/.test(bare))
    throw new RangeError(
      `must be ${expected}, got ${JSON.stringify(text)} without a unit: write ${bare}ms or ${bare}s`,
    )
  return parseAmount(text, DURATIONS, expected)
}

/** Inverse of {@link parseSize}: uses the largest unit that divides the number. */
export function formatSize(bytes: number): string {
  return formatAmount(bytes, SIZES)
}

/** Inverse of {@link parseDuration}. */
export function formatDuration(milliseconds: number): string {
  return formatAmount(milliseconds, DURATIONS)
}

/**
 * Formats milliseconds with three decimals, such as `12.345`. Uses integers, which are several times faster to format
 * than fractions.
 */
export function formatMs(milliseconds: number): string {
  const micros = Math.round(milliseconds * 1000)
  const rest = Math.abs(micros % 1000)
  const sign = micros < 0 && micros > -1000 ? '-' : ''
  return `${sign}${Math.trunc(micros / 1000)}.${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}`
}

/** Formats whole seconds as `1d0h3m9s` or `9s`, starting with the largest unit (reference 7.6). */
export function formatSpan(seconds: number): string {
  let rest = seconds
  let text = ''
  for (const [unit, length] of SPAN_UNITS) {
    const count = Math.floor(rest / length)
    rest %= length
    if (text !== '' || count > 0 || unit === 's') text += `${count}${unit}`
  }
  return text
}

function parseAmount(
  text: string | number,
  units: Readonly<Record<string, number>>,
  expected: string,
): number {
  const normalized = String(text).trim().toLowerCase()
  if (normalized === 'none' || text === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
  const match = AMOUNT.exec(normalized)
  const unit = match === null ? undefined : units[match[2]!]
  if (match === null || unit === undefined)
    throw new RangeError(`must be ${expected}, got ${JSON.stringify(text)}`)
  return Math.round(Number(match[1]) * unit)
}

function formatAmount(amount: number, units: Readonly<Record<string, number>>): string {
  if (amount === Number.POSITIVE_INFINITY) return 'none'
  let text = String(amount)
  for (const [unit, factor] of Object.entries(units)) {
    if (unit !== '' && amount >= factor && amount % factor === 0) text = `${amount / factor}${unit}`
  }
  return text
}
