import { findJsonFault } from '../../core/request/json/error-position.ts'
import { reindentJson } from '../../core/request/json/reindent-json.ts'
import { isTooDeep } from '../json/json-levels.ts'

/** How the bytes of a value are shown, and typed. */
export type ValueFormat = 'json' | 'text' | 'hex'

export const VALUE_FORMATS: readonly ValueFormat[] = ['json', 'text', 'hex']

const HEX_LINE_BYTES = 16

/**
 * Undefined: they are no UTF-8.
 *
 * @param isPart whether they may end within a character, which is left out then.
 */
function decodeText(bytes: Uint8Array, isPart = false): string | undefined {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return decoder.decode(bytes, { stream: isPart })
  } catch {
    return undefined
  }
}

/** Whether a format can show these bytes so that they can be typed again as they are. */
export function fits(bytes: Uint8Array, format: ValueFormat): boolean {
  if (format === 'hex') return true
  const text = decodeText(bytes)
  if (text === undefined) return false
  // What else there is of control characters a field for typing would lose, and it makes one line feed of CR LF.
  if (format === 'text') return !/[\x00-\x08\x0b-\x1f\x7f]/.test(text)
  return isJson(text)
}

/** The first format that shows these bytes best. */
export function toFormat(bytes: Uint8Array): ValueFormat {
  const isEmpty = bytes.length === 0
  return isEmpty ? 'text' : VALUE_FORMATS.find((format) => fits(bytes, format))!
}

/** Bytes as a person reads and types them. Those that do not fit the format are shown as far as they can be. */
export function formatValue(bytes: Uint8Array, format: ValueFormat): string {
  if (format === 'hex') return formatHex(bytes)
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  // Each level is indented: of very many, blanks would be most of it.
  return format === 'json' && isJson(text) && !isTooDeep(text) ? reindentJson(text, '  ') : text
}

/** @throws {RangeError} what is wrong with it, and where. */
export function parseTypedValue(typed: string, format: ValueFormat): Uint8Array {
  if (format === 'hex') return parseHex(typed)
  if (format === 'text') return new TextEncoder().encode(typed)
  if (!isJson(typed)) throw new RangeError(`this is no JSON: ${findJsonFault(typed)}`)
  return new TextEncoder().encode(reindentJson(typed, ''))
}

/** A line of a table: the beginning of a value. */
export function toPreview(bytes: Uint8Array, length: number): string {
  // A character has four bytes at most.
  const isPart = bytes.length > 4 * length
  const text = decodeText(isPart ? bytes.subarray(0, 4 * length) : bytes, isPart)
  if (text === undefined) {
    const line = formatHex(bytes.subarray(0, HEX_LINE_BYTES))
    return bytes.length > HEX_LINE_BYTES ? `${line} …` : line
  }
  const line = text.replaceAll(/[\x00-\x1f\x7f-\x9f]+/g, ' ')
  return line.length > length ? `${line.slice(0, length)}…` : line
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function formatHex(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let i = 0; i < bytes.length; i += HEX_LINE_BYTES) {
    const line = Array.from(bytes.subarray(i, i + HEX_LINE_BYTES), (byte) =>
      byte.toString(16).padStart(2, '0'),
    )
    lines.push(line.join(' '))
  }
  return lines.join('\n')
}

function parseHex(typed: string): Uint8Array {
  const digits = typed.replaceAll(/\s/g, '')
  const wrong = digits.search(/[^0-9a-fA-F]/)
  if (wrong !== -1)
    throw new RangeError(
      `hexadecimal digits are 0 to 9 and a to f, got ${JSON.stringify(digits[wrong])}`,
    )
  if (digits.length % 2 === 1)
    throw new RangeError(`each byte has two digits, got ${digits.length} digits`)
  const bytes = new Uint8Array(digits.length / 2)
  for (let i = 0; i < bytes.length; i++)
    bytes[i] = Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16)
  return bytes
}
