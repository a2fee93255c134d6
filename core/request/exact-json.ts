import { findJsonFault } from './json-fault.ts'
import { skipString, skipValue } from './json-text.ts'

/**
 * JSON as people write it. Integers beyond 2^53 are texts: as numbers they would be rounded.
 *
 * @throws {SyntaxError} with the place of the first fault.
 */
export function parseExactJson(text: string): unknown {
  const value = parseLocated(text)
  const exact = replaceNumbers(text, (number) => (isSafe(number) ? number : `"${number}"`))
  return exact === text ? value : JSON.parse(exact)
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

function isSafe(number: string): boolean {
  return !/^-?\d+$/.test(number) || Number.isSafeInteger(Number(number))
}
