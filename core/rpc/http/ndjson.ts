import type { GatewayError } from '../../errors.ts'
import { readFail } from '../error-codec.ts'
import { FAIL_MAX_BYTES, PAYLOAD_MAX_BYTES } from '../ws/frames.ts'

/** Content type of streams in the HTTP transport: one JSON document per line (docs/protocol.md §3). */
export const LINES = 'application/x-ndjson'

/** Maximum length that an error line adds to its error. */
const ENVELOPE_MAX_BYTES = 64
export const LINE_FEED = 10
const BLANK = 32
const END = Buffer.of(LINE_FEED)
const NOTHING = Buffer.alloc(0)
const ERROR_LINE = /^[\t ]{0,8}\{[\t ]{0,8}"error"/

/** True if a `Content-Type` has this media type (lower case), with any parameters. */
export function hasMediaType(contentType: string, type: string): boolean {
  if (contentType === type) return true
  const { length } = type
  if (contentType.slice(0, length).toLowerCase() !== type) return false
  const next = contentType[length]
  return next === undefined || next === ';' || next === ' ' || next === '\t'
}

/**
 * Formats a JSON document as a line. Line feeds in JSON can only be whitespace and become spaces. Empty for an empty
 * body.
 *
 * @throws {RangeError} if the document exceeds 16 MiB.
 */
export function toLine(body: string | Uint8Array): Buffer {
  const line = typeof body === 'string' ? Buffer.from(`${body}\n`) : Buffer.concat([body, END])
  if (line.length > PAYLOAD_MAX_BYTES + 1) {
    throw new RangeError(`body must be at most ${PAYLOAD_MAX_BYTES} bytes`)
  }
  const last = line.length - 1
  if (last === 0) return NOTHING
  replaceWithBlanks(line, LINE_FEED, last)
  return line
}

/** Replaces each occurrence of a byte before `end` with a space. Line breaks in JSON only occur between tokens. */
export function replaceWithBlanks(
  bytes: Uint8Array,
  byte: number,
  end: number = bytes.length,
): void {
  for (let at = bytes.indexOf(byte); at >= 0 && at < end; at = bytes.indexOf(byte, at + 1))
    bytes[at] = BLANK
}

/** Parses an error line `{"error": {…}}` of a stream. Returns undefined for any other line. */
export function parseErrorLine(line: Buffer, service: string): GatewayError | undefined {
  // Most lines are excluded by their length or prefix.
  if (line.length > FAIL_MAX_BYTES + ENVELOPE_MAX_BYTES) return undefined
  if (!ERROR_LINE.test(line.toString('latin1', 0, 32))) return undefined
  let document: Readonly<Record<string, unknown>>
  try {
    document = JSON.parse(line.toString())
  } catch {
    return undefined
  }
  if (Object.keys(document).length !== 1) return undefined
  return readFail(document['error'], service)
}
