import { findJsonFault } from './json-fault.ts'
import { skipString, skipValue } from './json-text.ts'

/**
 * JSON as people write it. Integers beyond 2^53 are texts: as numbers they would be rounded.
 *
 * @throws {SyntaxError} with the place of the first fault.
 */
export function parseExactJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new SyntaxError(findJsonFault(text), { cause })
  }
  const exact = quoteUnsafe(text)
  return exact === text ? value : JSON.parse(exact)
}

/** The same JSON with quotes around integers beyond 2^53. Not by a pattern: one would need a stack as deep as the longest text. */
function quoteUnsafe(text: string): string {
  let exact = ''
  let copied = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = skipString(text, at)
    else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const end = skipValue(text, at)
      const number = text.slice(at, end)
      if (!isSafe(number)) {
        exact += `${text.slice(copied, at)}"${number}"`
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
