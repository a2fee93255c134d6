import { findJsonFault } from './json-fault.ts'

/** A text, which is left as it is, or a number of JSON. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

/**
 * JSON as people write it. Integers beyond 2^53 are texts: as numbers they would be rounded.
 *
 * @throws {SyntaxError} with the place of the first fault.
 */
export function parseExactJson(text: string): unknown {
  try {
    JSON.parse(text)
  } catch (cause) {
    throw new SyntaxError(findJsonFault(text), { cause })
  }
  return JSON.parse(text.replace(TOKEN, quoteUnsafe))
}

function quoteUnsafe(token: string): string {
  const isSafe = !/^-?\d+$/.test(token) || Number.isSafeInteger(Number(token))
  return isSafe ? token : `"${token}"`
}
