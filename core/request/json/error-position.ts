import { skipBlanks } from './json-text.ts'

/**
 * Describes the first syntax error of a JSON text (RFC 8259): `expected a value at position 5, got "}"`. Positions
 * count characters from 0. JavaScript engines only report the position of some errors.
 *
 * Intended for texts rejected by `JSON.parse`. Runs in linear time without recursion.
 */
export function findJsonFault(text: string): string {
  /** Missing closing brackets, innermost last. */
  const closers: string[] = []
  let at = skipBlanks(text, 0)
  let expected: 'value' | 'name' | 'next' = 'value'
  /** Whether a closing bracket is allowed because the list or object is empty so far. */
  let opened = false
  for (;;) {
    const char = text[at]
    const closer = closers.at(-1)
    if (expected === 'next') {
      if (closer === undefined) return fault('the end', text, at)
      if (char === ',') expected = closer === '}' ? 'name' : 'value'
      else if (char === closer) closers.pop()
      else return fault(`, or ${closer}`, text, at)
      at++
      opened = false
    } else if (opened && char === closer) {
      closers.pop()
      at++
      opened = false
      expected = 'next'
    } else if (expected === 'name') {
      if (char !== '"') return fault('a name in double quotes', text, at)
      const end = skipString(text, at)
      if (end < 0) return stringFault(text, -end - 1)
      at = skipBlanks(text, end)
      if (text[at] !== ':') return fault(':', text, at)
      at++
      opened = false
      expected = 'value'
    } else if (char === '{' || char === '[') {
      closers.push(char === '{' ? '}' : ']')
      expected = char === '{' ? 'name' : 'value'
      opened = true
      at++
    } else {
      if (char === '"') {
        const end = skipString(text, at)
        if (end < 0) return stringFault(text, -end - 1)
        at = end
      } else {
        const end = skipWord(text, at)
        if (end === at) return fault('a value', text, at)
        at = end
      }
      opened = false
      expected = 'next'
    }
    at = skipBlanks(text, at)
  }
}

function fault(expected: string, text: string, at: number): string {
  if (at >= text.length) return `expected ${expected} at position ${at}, got the end`
  const got = String.fromCodePoint(text.codePointAt(at)!)
  return `expected ${expected} at position ${at}, got ${JSON.stringify(got)}`
}

function stringFault(text: string, at: number): string {
  if (at >= text.length) return fault('a closing double quote', text, at)
  return text[at] === '\\'
    ? `malformed escape at position ${at}`
    : `unescaped control character at position ${at}`
}

/** Returns the end of a string. A negative result is `-position - 1` of its error. */
function skipString(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22) return i + 1
    if (code < 0x20) return -i - 1
    if (code !== 0x5c) continue
    const escaped = text[i + 1]
    if (escaped === undefined) return -text.length - 1
    const isUnicode = escaped === 'u' && FOUR_DIGITS.test(text.slice(i + 2, i + 6))
    if (!isUnicode && !ESCAPABLE.has(escaped)) return -i - 1
    i += isUnicode ? 5 : 1
  }
  return -text.length - 1
}

const ESCAPABLE = new Set('"\\/bfnrt')
const FOUR_DIGITS = /^[0-9a-fA-F]{4}$/
const WORDS = ['true', 'false', 'null']
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y

/** Returns the end of a number or literal, or `at` if it finds neither. */
function skipWord(text: string, at: number): number {
  for (const word of WORDS) if (text.startsWith(word, at)) return at + word.length
  NUMBER.lastIndex = at
  return NUMBER.test(text) ? NUMBER.lastIndex : at
}
