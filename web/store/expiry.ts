import { formatSpan, parseDuration } from '../../lib/text/units.ts'

/** Longest life of a record, seconds (docs/store.md). */
const MAX_SECONDS = 1e10

/**
 * Seconds of what was typed: `90s`, `10m`, `2h`, `1d`; nothing or `never` is 0, no end.
 *
 * @throws {RangeError} naming the accepted forms.
 */
export function parseExpiry(typed: string): number {
  const text = typed.trim()
  if (text === '' || text === 'never') return 0
  // A number alone would be milliseconds, of which nobody thinks here.
  const milliseconds = parseDuration(/^[\d.]+$/.test(text) ? `${text}s` : text)
  if (!Number.isFinite(milliseconds)) return 0
  const seconds = Math.ceil(milliseconds / 1000)
  if (seconds === 0) throw new RangeError('must be longer than nothing; empty: it never ends')
  if (seconds > MAX_SECONDS) throw new RangeError(`must be at most ${MAX_SECONDS} s`)
  return seconds
}

/** What is left of a record's life, `9m3s`. @param seconds 0: it never ends. */
export function formatExpiry(seconds: number): string {
  return seconds === 0 ? 'never' : formatSpan(seconds)
}
