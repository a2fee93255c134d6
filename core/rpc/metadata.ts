import { METADATA_MAX_BYTES } from './ws/frames.ts'

/** A header name: RFC 9110 §5.6.2 token, lower case. */
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** A header value: RFC 9110 §5.5, no control characters except tab; one byte per character. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const BLOCK = /^(?:[!#$%&'*+\-.^_`|~0-9a-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/

export const MALFORMED_METADATA =
  'each metadata line must be a lower-case name, a colon, a value without control characters, and CRLF'

/** True if a text is a valid metadata block (docs/protocol.md §1). Linear time. */
export function isMetadata(text: string): boolean {
  return text.length <= METADATA_MAX_BYTES && BLOCK.test(text)
}

/**
 * Parses a metadata block (docs/protocol.md §1) into name, value, name, value… as in `HeaderList.flat`. Returns
 * undefined if it is malformed or longer than 64 KiB. Linear time.
 */
export function parseMetadata(text: string): string[] | undefined {
  return isMetadata(text) ? splitMetadata(text) : undefined
}

/** Like {@link parseMetadata}, for a validated block. */
export function splitMetadata(text: string): string[] {
  const fields: string[] = []
  let at = 0
  for (;;) {
    const stop = text.indexOf('\r\n', at)
    if (stop < 0) return fields
    const colon = text.indexOf(':', at)
    fields.push(text.slice(at, colon), trimBlanks(text, colon + 1, stop))
    at = stop + 2
  }
}

/**
 * Formats a metadata block from name, value, name, value…
 *
 * @throws {TypeError} if a name is not a lower-case token, a value contains a control character or a character above
 * U+00FF, or the block is longer than 64 KiB.
 */
export function formatMetadata(fields: readonly string[]): string {
  let text = ''
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i]!
    const value = fields[i + 1]!
    if (!NAME.test(name)) {
      throw new TypeError(
        `metadata name must be a token in lower case, got ${JSON.stringify(name.slice(0, 100))}`,
      )
    }
    if (!VALUE.test(value)) {
      throw new TypeError(
        `metadata ${name} must have one byte per character and no control characters`,
      )
    }
    text += `${name}: ${value}\r\n`
  }
  if (text.length > METADATA_MAX_BYTES) {
    throw new TypeError(`metadata must be at most ${METADATA_MAX_BYTES} bytes, got ${text.length}`)
  }
  return text
}

/** Returns the first value of a name (lower case) without parsing the block, or undefined if none. */
export function findMetadata(text: string, name: string): string | undefined {
  if (text === '') return undefined
  const start = `${name}:`
  let at = 0
  if (!text.startsWith(start)) {
    at = text.indexOf(`\r\n${start}`) + 2
    if (at < 2) return undefined
  }
  const stop = text.indexOf('\r\n', at)
  return trimBlanks(text, at + start.length, stop < 0 ? text.length : stop)
}

/** True if a block contains a name (lower case) more than once. */
export function isRepeated(text: string, name: string): boolean {
  const line = `\r\n${name}:`
  const at = text.startsWith(line.slice(2)) ? 0 : text.indexOf(line) + 2
  return text.includes(line, at)
}

/** Unlike `trim`, does not strip 0xa0, which is a UTF-8 byte here. */
function trimBlanks(text: string, start: number, end: number): string {
  let from = start
  let to = end
  while (from < to && isBlank(text.charCodeAt(from))) from++
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
