import { parseDuration } from '../../lib/text/units.ts'

/**
 * Seconds of a flag `--expiry`, rounded up; `none` is `Infinity`. It must say its unit: a number alone, milliseconds in settings and
 * seconds to services, would end what is kept at another time than was meant.
 *
 * @throws {RangeError} naming what is accepted.
 */
export function parseExpiry(text: string): number {
  if (Number(text) > 0) throw new RangeError(`must have a unit, such as ${text}s or ${text}m`)
  return Math.ceil(parseDuration(text) / 1000)
}
