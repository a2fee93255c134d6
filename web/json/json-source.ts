import { parseExactJson } from '../../core/request/json/exact-json.ts'
import { reindentJson } from '../../core/request/json/reindent-json.ts'
import { isTooDeep, TOO_DEEP } from './json-levels.ts'

/** Matches numbers that may not round-trip: 16 digits or more, or an exponent. */
const INEXACT = /[\d.]{16}|\d[eE]/

/** Source texts of objects and lists that may not round-trip. */
const sources = new WeakMap<object, string>()

/**
 * Parses JSON. Integers beyond 2^53 become strings. {@link formatJson} and {@link writeJson} restore the original
 * numbers of an unchanged value.
 *
 * @throws {SyntaxError} with the position of the first error.
 * @throws {RangeError} if it is nested too deeply.
 */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new RangeError(TOO_DEEP)
  const value = parseExactJson(text)
  if (typeof value === 'object' && value !== null && INEXACT.test(text)) sources.set(value, text)
  return value
}

/** Pretty-prints JSON, with the original numbers for a value from {@link parseJson}. Empty for `undefined`. */
export function formatJson(value: unknown): string {
  const source = typeof value === 'object' && value !== null ? sources.get(value) : undefined
  return source === undefined ? (JSON.stringify(value, null, 2) ?? '') : reindentJson(source, '  ')
}

/** Serializes a message. A value from {@link parseJson} is written as its source text. */
export function writeJson(value: unknown): string {
  const source = typeof value === 'object' && value !== null ? sources.get(value) : undefined
  return source ?? JSON.stringify(value)
}
