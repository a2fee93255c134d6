import { parseExactJson } from '../../core/request/json/exact-json.ts'
import { reindentJson } from '../../core/request/json/reindent-json.ts'
import { isTooDeep, TOO_DEEP } from './json-levels.ts'

/** What may not be written as it came: numbers of 16 digits and more, and those with an exponent. */
const INEXACT = /[\d.]{16}|\d[eE]/

/** Texts of objects and lists that are not the same when they are written again. */
const sources = new WeakMap<object, string>()

/**
 * Parses JSON: integers beyond 2^53 are texts. {@link formatJson} and {@link writeJson} write them as they came, if the value is not changed.
 *
 * @throws {SyntaxError} with the place of the first fault.
 * @throws {RangeError} where it is too deep.
 */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new RangeError(TOO_DEEP)
  const value = parseExactJson(text)
  if (typeof value === 'object' && value !== null && INEXACT.test(text)) sources.set(value, text)
  return value
}

/** JSON with a line for each member; of what {@link parseJson} made, with the numbers it came with. Empty for `undefined`. */
export function formatJson(value: unknown): string {
  const source = typeof value === 'object' && value !== null ? sources.get(value) : undefined
  return source === undefined ? (JSON.stringify(value, null, 2) ?? '') : reindentJson(source, '  ')
}

/** JSON of a message to send; of what {@link parseJson} made, the text it was made of. */
export function writeJson(value: unknown): string {
  const source = typeof value === 'object' && value !== null ? sources.get(value) : undefined
  return source ?? JSON.stringify(value)
}
