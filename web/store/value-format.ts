import { findJsonFault } from '../../core/request/json/error-position.ts'
import { reindentJson } from '../../core/request/json/reindent-json.ts'
import { isTooDeep } from '../json/json-levels.ts'

/** Format in which the bytes of a value are displayed and edited. */
export type ValueFormat = 'json' | 'text' | 'hex'

export const VALUE_FORMATS: readonly ValueFormat[] = ['json', 'text', 'hex']

const HEX_LINE_BYTES = 16

/**
 * Decodes UTF-8; returns undefined for other bytes.
 *
 * @param isPart true to drop an incomplete character at the end.
 */
function decodeText(bytes: Uint8Array, isPart = false): string | undefined {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return decoder.decode(bytes, { stream: isPart })
  } catch {
    return undefined
  }
}

/** True if a format round-trips the bytes. */
export function fits(bytes: Uint8Array, format: ValueFormat): boolean {
  if (format === 'hex') return true
  const text = decodeText(bytes)
  if (text === undefined) return false
  // A textarea drops other control characters and converts CR LF to LF.
  if (format === 'text') return !/[\x00-\x08\x0b-\x1f\x7f]/.test(text)
  return isJson(text)
}

/** Most readable format that fits the bytes. */
export function toFormat(bytes: Uint8Array): ValueFormat {
  const isEmpty = bytes.length === 0
  return isEmpty ? 'text' : VALUE_FORMATS.find((format) => fits(bytes, format))!
}

/** Formats bytes for an input. Bytes that do not fit the format are shown with replacement characters. */
export function formatValue(bytes: Uint8Array, format: ValueFormat): string {
  if (format === 'hex') return formatHex(bytes)
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  // Deeply nested JSON would consist mostly of indentation.
  return format === 'json' && isJson(text) && !isTooDeep(text) ? reindentJson(text, '  ') : text
}

/** Parses the text of an input. @throws {RangeError} with the position of the error. */
export function parseValue(text: string, format: ValueFormat): Uint8Array {
  if (format === 'hex') return parseHex(text)
  if (format === 'text') return new TextEncoder().encode(text)
  if (!isJson(text)) throw new RangeError(`invalid JSON: ${findJsonFault(text)}`)
  return new TextEncoder().encode(reindentJson(text, ''))
}

/** Formats the beginning of a value on one line. */
export function toPreview(bytes: Uint8Array, length: number): string {
  // UTF-8 uses at most four bytes per character.
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

function parseHex(text: string): Uint8Array {
  const digits = text.replaceAll(/\s/g, '')
  const invalid = digits.search(/[^0-9a-fA-F]/)
  if (invalid !== -1)
    throw new RangeError(`invalid hexadecimal digit ${JSON.stringify(digits[invalid])}`)
  if (digits.length % 2 === 1)
    throw new RangeError(`expected two hexadecimal digits per byte, got ${digits.length} digits`)
  const bytes = new Uint8Array(digits.length / 2)
  for (let i = 0; i < bytes.length; i++)
    bytes[i] = Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16)
  return bytes
}
