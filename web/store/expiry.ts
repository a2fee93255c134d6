import { formatSpan, parseDuration } from '../../lib/text/units.ts'

/** Maximum expiry of a record (docs/store.md). */
const MAX_SECONDS = 1e10

/**
 * Parses an expiry such as `90s`, `10m`, `2h` or `1d` into seconds. Empty text and `never` return 0.
 *
 * @throws {RangeError} naming the accepted forms.
 */
export function parseExpiry(input: string): number {
  const text = input.trim()
  if (text === '' || text === 'never') return 0
  // Numbers without a unit are seconds here, but parseDuration treats them as milliseconds.
  const milliseconds = parseDuration(/^[\d.]+$/.test(text) ? `${text}s` : text)
  if (!Number.isFinite(milliseconds)) return 0
  const seconds = Math.ceil(milliseconds / 1000)
  if (seconds === 0) throw new RangeError('must be greater than 0; leave empty for no expiry')
  if (seconds > MAX_SECONDS) throw new RangeError(`must be at most ${MAX_SECONDS} s`)
  return seconds
}

/** Formats the remaining lifetime, such as `9m3s`. @param seconds seconds; 0 for no expiry. */
export function formatExpiry(seconds: number): string {
  return seconds === 0 ? 'never' : formatSpan(seconds)
}
