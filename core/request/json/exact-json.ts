import { findJsonFault } from './error-position.ts'
import { parseInteger } from './int64.ts'
import { skipString, skipValue } from './json-text.ts'

const MIN = BigInt(Number.MIN_SAFE_INTEGER)
const MAX = BigInt(Number.MAX_SAFE_INTEGER)
/** Of at most 15 significant digits, which a double holds (`DBL_DIG` of C). */
const SHORT = /^-?[\d.]{1,15}(?:[eE]|$)/

/**
 * JSON as people write it. Numbers that a reader without a schema must not round are texts: see {@link isDouble}.
 *
 * @throws {SyntaxError} with the place of the first fault.
 */
export function parseExactJson(text: string): unknown {
  const value = parseLocated(text)
  return quoteNumbers(text, isDouble) ?? value
}

/** JSON with some of its numbers as texts. @returns undefined where all of them are `kept`. */
export function quoteNumbers(text: string, isKept: (number: string) => boolean): unknown {
  const quoted = replaceNumbers(text, (number) => (isKept(number) ? number : `"${number}"`))
  return quoted === text ? undefined : JSON.parse(quoted)
}

/**
 * Whether a JSON number reads the same as an integer and as a double: a fraction, or an integer of up to ±(2^53 - 1). Not
 * 9007199254740993, nor 1.00000000000000001, of which `JSON.parse` makes 1.
 */
export function isExact(number: string): boolean {
  const double = Number(number)
  if (!Number.isInteger(double)) return Number.isFinite(double)
  return Number.isSafeInteger(double) && parseInteger(number, MIN, MAX) === double
}

/**
 * Whether a JSON number of unknown type is a double: it is {@link isExact}, or written as a floating-point number of few
 * digits, such as `1e300`. Digits beyond ±(2^53 - 1) may be an id.
 */
export function isDouble(number: string): boolean {
  return isExact(number) || (SHORT.test(number) && Number.isFinite(Number(number)))
}

/** @throws {SyntaxError} with the place of the first fault. */
export function parseLocated(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new SyntaxError(findJsonFault(text), { cause })
  }
}

/** The same JSON with others in place of some numbers. Not by a pattern: one would need a stack as deep as the longest text. */
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
