import { findJsonFault } from './error-position.ts'
import { parseInteger } from './int64.ts'
import { skipString, skipValue } from './json-text.ts'

const MIN = BigInt(Number.MIN_SAFE_INTEGER)
const MAX = BigInt(Number.MAX_SAFE_INTEGER)
/** At most 15 significant digits, which a double represents exactly (`DBL_DIG` in C). */
const SHORT = /^-?[\d.]{1,15}(?:[eE]|$)/

/**
 * Parses JSON without loss of precision: numbers that must not be rounded become strings, see {@link isDouble}.
 *
 * @throws {SyntaxError} with the position of the first error.
 */
export function parseExactJson(text: string): unknown {
  const value = parseLocated(text)
  return quoteNumbers(text, isDouble) ?? value
}

/**
 * Quotes the numbers of a JSON text for which `isUnchanged` returns false.
 *
 * @returns undefined if nothing was quoted.
 */
export function quoteNumbers(text: string, isUnchanged: (number: string) => boolean): unknown {
  const quoted = replaceNumbers(text, (number) => (isUnchanged(number) ? number : `"${number}"`))
  return quoted === text ? undefined : JSON.parse(quoted)
}

/**
 * Whether a double represents a JSON number exactly: a fraction, or an integer up to ±(2^53 - 1). False for
 * 9007199254740993 and for 1.00000000000000001, which `JSON.parse` rounds to 1.
 */
export function isExact(number: string): boolean {
  const double = Number(number)
  if (!Number.isInteger(double)) return Number.isFinite(double)
  return Number.isSafeInteger(double) && parseInteger(number, MIN, MAX) === double
}

/**
 * Whether a JSON number of unknown type may be read as a double: it is exact ({@link isExact}), or a floating-point
 * number with few digits, such as `1e300`. An integer above ±(2^53 - 1) may be an id.
 */
export function isDouble(number: string): boolean {
  return isExact(number) || (SHORT.test(number) && Number.isFinite(Number(number)))
}

/** @throws {SyntaxError} with the position of the first error. */
export function parseLocated(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new SyntaxError(findJsonFault(text), { cause })
  }
}

/**
 * Replaces the numbers in a JSON text. Does not use a regular expression, whose stack would grow with the longest
 * string.
 */
export function replaceNumbers(text: string, replace: (number: string) => string): string {
  let exact = ''
  let copied = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = skipString(text, at)
    else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const end = skipValue(text, at)
      const number = text.slice(at, end)
      const replaced = replace(number)
      if (replaced !== number) {
        exact += text.slice(copied, at) + replaced
        copied = end
      }
      at = end
    } else at++
  }
  return exact + text.slice(copied)
}
