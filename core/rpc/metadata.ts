import { METADATA_MAX_BYTES } from './frames.ts'

/** Characters of a name: RFC 9110 §5.6.2 token, lower case. */
const NAME = new Uint8Array(256)
for (const c of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz") NAME[c.charCodeAt(0)] = 1
/** Characters of a value: RFC 9110 §5.5, no control character but the tab. */
const VALUE = new Uint8Array(256).fill(1, 0x20).fill(0, 0x7f, 0x80)
VALUE[0x09] = 1

/**
 * The fields of a metadata block (docs/protocol.md §1): name, value, name, value… as in
 * `HeaderList.flat`. Undefined when it is malformed or longer than 64 KiB. Linear.
 */
export function parseMetadata(text: string): string[] | undefined {
  if (text.length > METADATA_MAX_BYTES) return undefined
  const fields: string[] = []
  let at = 0
  while (at < text.length) {
    const stop = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    if (stop < 0 || colon < 0 || colon > stop) return undefined
    const name = text.slice(at, colon)
    const value = trimBlanks(text, colon + 1, stop)
    if (name === '' || !consists(name, NAME) || !consists(value, VALUE)) return undefined
    fields.push(name, value)
    at = stop + 2
  }
  return fields
}

/**
 * The block of some fields, from name, value, name, value…; names in lower case.
 *
 * @throws {TypeError} when a name is no token in lower case, a value holds a control character or one beyond U+00FF, or the block is longer than 64 KiB.
 */
export function formatMetadata(fields: readonly string[]): string {
  let text = ''
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i]!
    const value = fields[i + 1]!
    if (name === '' || !consists(name, NAME)) {
      throw new TypeError(
        `metadata name must be a token in lower case, got ${JSON.stringify(name.slice(0, 100))}`,
      )
    }
    if (!consists(value, VALUE)) {
      throw new TypeError(`metadata ${name} must hold one byte a character, no control characters`)
    }
    text += `${name}: ${value}\r\n`
  }
  if (text.length > METADATA_MAX_BYTES) {
    throw new TypeError(`metadata must be at most ${METADATA_MAX_BYTES} bytes, got ${text.length}`)
  }
  return text
}

/** First value of a name (lower case) in a block, without reading the rest of it; undefined: none. */
export function findMetadata(text: string, name: string): string | undefined {
  const start = `${name}:`
  let at = 0
  if (!text.startsWith(start)) {
    at = text.indexOf(`\r\n${start}`) + 2
    if (at < 2) return undefined
  }
  const stop = text.indexOf('\r\n', at)
  return trimBlanks(text, at + start.length, stop < 0 ? text.length : stop)
}

/** Not `trim`, to which a byte of UTF-8 is a blank, too: 0xa0. */
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

function consists(text: string, of: Uint8Array): boolean {
  // Beyond U+00FF there is nothing in the table.
  for (let i = 0; i < text.length; i++) if (of[text.charCodeAt(i)] !== 1) return false
  return true
}
