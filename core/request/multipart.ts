import { GATEWAY_ID, type GatewayError } from '../errors.ts'
import { badRequest, quote } from './bad-request.ts'
import { type Fields, FieldTree, MAX_FIELDS } from './fields.ts'
import { isUtf8Charset, parseMediaType } from './media-type.ts'
import { parseParameters, skipToken } from './query/parameters.ts'
import { decodeUtf8 } from './utf8.ts'

/** Maximum header size of a part. */
const MAX_HEADER_BYTES = 8192

/** RFC 2046 §5.1.1: 1 to 70 characters, not ending with a space. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/
/** Encodings that do not change the content. */
const IDENTITY = new Set(['7bit', '8bit', 'binary'])

const CR = 0x0d
const LF = 0x0a
const DASH = 0x2d
const PART_HEADER_END = Buffer.from('\r\n\r\n')

/** Parsed header of a part. */
interface PartHeader {
  readonly name: string
  readonly isFile: boolean
}

/**
 * Parses a body of type `multipart/form-data` (RFC 7578) into a nested object; `FieldTree` defines how names nest.
 * Fields are text. Files (parts with a file name) are views of the body, which `coerce` converts to Base64.
 *
 * Uses no library, because the body is complete. The evaluated libraries (busboy, its Fastify fork, Remix's parser)
 * read streams and skip parts that are malformed, have no name, or start with a boundary-like line. This parser skips
 * only the preamble and the epilogue (RFC 2046 §5.1.1).
 *
 * @param boundary parameter of the content type.
 * @throws {GatewayError} 400 for a malformed body, more than 256 parts, a part header above 8 KiB, or invalid names
 * (see `FieldTree`).
 */
export function parseMultipart(
  body: Uint8Array,
  boundary: string,
  id: string = GATEWAY_ID,
): Fields {
  if (!BOUNDARY.test(boundary))
    throw badRequest(
      id,
      `multipart/form-data requires a boundary parameter, got ${quote(boundary)}`,
    )
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  const tree = new FieldTree('form field', id)
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  // At the start of the body, the boundary needs no preceding line break.
  const startsWithDelimiter = bytes.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2))
  const first = startsWithDelimiter ? -2 : bytes.indexOf(delimiter)
  if (first === -1) throw malformed(id, `it contains no boundary ${quote(boundary)}`)
  let at = first + delimiter.length
  for (let count = 1; ; count++) {
    if (bytes[at] === DASH && bytes[at + 1] === DASH) {
      checkLineEnd(bytes, at + 2, true, id)
      return tree.finish()
    }
    if (count > MAX_FIELDS) throw malformed(id, `it must not have more than ${MAX_FIELDS} parts`)
    const start = checkLineEnd(bytes, at, false, id)
    const limit = start + MAX_HEADER_BYTES
    const headerEnd = bytes.subarray(start, limit).indexOf(PART_HEADER_END) + start
    if (headerEnd < start) {
      throw malformed(id, `the header of part ${count} must end within ${MAX_HEADER_BYTES} bytes`)
    }
    const { name, isFile } = parseHeader(bytes.subarray(start, headerEnd), count, id)
    const contentStart = headerEnd + PART_HEADER_END.length
    // The line break before a boundary belongs to the boundary; in an empty part it also ends the header.
    const contentEnd = bytes.indexOf(delimiter, contentStart - 2)
    if (contentEnd < 0) throw malformed(id, `the end of part ${count} is missing`)
    const content = bytes.subarray(contentStart, Math.max(contentStart, contentEnd))
    tree.add(name, isFile ? content : decodeUtf8(content, `form field ${quote(name)}`, id))
    at = contentEnd + delimiter.length
  }
}

/** Skips spaces and the line break after a boundary, which is optional after the last boundary. */
function checkLineEnd(bytes: Buffer, at: number, isLast: boolean, id: string): number {
  let i = at
  while (bytes[i] === 0x20 || bytes[i] === 0x09) i++
  if (isLast && i === bytes.length) return i
  if (bytes[i] === CR && bytes[i + 1] === LF) return i + 2
  throw malformed(id, `a boundary at byte ${at} must be followed by a line end`)
}

function parseHeader(bytes: Buffer, part: number, id: string): PartHeader {
  let header: PartHeader | undefined
  let charset = ''
  for (const line of decodeUtf8(bytes, `the header of part ${part}`, id).split('\r\n')) {
    const colon = skipToken(line, 0)
    if (colon === 0 || line[colon] !== ':') {
      throw malformed(
        id,
        `the header of part ${part} must be name: value lines, got ${quote(line)}`,
      )
    }
    const field = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    if (field === 'content-disposition') {
      if (header !== undefined)
        throw malformed(id, `part ${part} has several Content-Disposition headers`)
      header = parseDisposition(value)
      if (header === undefined) {
        throw malformed(
          id,
          `Content-Disposition of part ${part} must be form-data; name="...", got ${quote(value)}`,
        )
      }
    } else if (field === 'content-transfer-encoding') {
      if (!IDENTITY.has(value.toLowerCase()))
        throw malformed(id, `part ${part} must not be encoded (RFC 7578 §4.7), got ${quote(value)}`)
    } else if (field === 'content-type') charset = parseMediaType(value)?.charset ?? ''
  }
  if (header === undefined) throw malformed(id, `part ${part} has no Content-Disposition`)
  if (!header.isFile && !isUtf8Charset(charset))
    throw malformed(id, `charset of part ${part} must be utf-8, got ${quote(charset)}`)
  return header
}

/** Parses RFC 7578 §4.2. Returns undefined if the value is not `form-data` with a name. */
function parseDisposition(value: string): PartHeader | undefined {
  const typeEnd = skipToken(value, 0)
  if (value.slice(0, typeEnd).toLowerCase() !== 'form-data') return undefined
  const parameters = parseParameters(value, typeEnd)
  const name = parameters?.get('name')
  if (parameters === undefined || name === undefined) return undefined
  return {
    // The three characters that browsers escape in names (HTML, multipart/form-data encoding algorithm).
    name: name.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n'),
    isFile: parameters.has('filename') || parameters.has('filename*'),
  }
}

function malformed(id: string, detail: string): GatewayError {
  return badRequest(id, `malformed multipart/form-data: ${detail}`)
}
