import { DirectMappedCache } from '../../../lib/collections/direct-mapped-cache.ts'
import { flattenString } from '../../../lib/text/flatten-string.ts'
import { appendParsed, HeaderList } from '../../http/headers.ts'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const DIGITS = /^\d{1,15}$/
/** RFC 9112 §4. The space before an empty reason is often missing. */
const STATUS_LINE = /^HTTP\/1\.[01] [1-5]\d\d(?: .*)?$/
const ASCII_LINE = /^[\t\x20-\x7e]*$/
const FORBIDDEN = /[\0-\x08\n-\x1f\x7f]/
const BARE_LINE_FEED = /(?<!\r)\n/

/** Meaning of a line for the connection. */
const PASS = 0
const DROP = 1
const CONTENT_LENGTH = 2
const TRANSFER_ENCODING = 3
const CONNECTION = 4
const KEEP_ALIVE = 5
const STATUS = 6
const DATE = 7

/** Headers that are not forwarded: hop-by-hop headers (RFC 9110 §7.6.1) and `Date`, which listeners set. */
const HEADER_KINDS = new Map([
  ['content-length', CONTENT_LENGTH],
  ['transfer-encoding', TRANSFER_ENCODING],
  ['connection', CONNECTION],
  ['keep-alive', KEEP_ALIVE],
  ['proxy-connection', DROP],
  ['proxy-authenticate', DROP],
  ['proxy-authentication-info', DROP],
  ['proxy-authorization', DROP],
  ['te', DROP],
  ['trailer', DROP],
  ['upgrade', DROP],
  ['date', DATE],
])

/** The body ends with the connection (RFC 9112 §6.3, case 8). */
export const UNTIL_CLOSE = -2
export const CHUNKED = -1

/** A valid line of a response head. */
interface Line {
  /** Text as received, including CRLF. */
  readonly text: string
  readonly meaning: number
  /** Name in lower case. */
  readonly name: string
  readonly value: string
  /** Status code, or value of Content-Length. */
  readonly number: number
  readonly ascii: boolean
}

/**
 * Lines of a node's last head, by position. Responses are repetitive: an identical line at the same position is known
 * to be valid and is not parsed again.
 */
export type LineMemory = Line[]

/** Recent lines of all nodes. Most lines are identical and stored once. */
const LINES = new DirectMappedCache<Line>()
/** Maximum number of cached lines, and their maximum length. */
const MEMORY_LINES = 32
const MEMORY_LINE_LENGTH = 256

/** A parsed response head, reused for every response. */
export interface ReplyHead {
  status: number
  /** End-to-end headers. */
  headers: HeaderList
  /** Value of Content-Length, {@link CHUNKED} or {@link UNTIL_CLOSE}. */
  length: number
  /** Whether the backend keeps the connection alive after this response. */
  persistent: boolean
  /** Value of `Keep-Alive: timeout=` in seconds; 0 if not announced. */
  idleSeconds: number
  /** Whether all lines were cached, so that the head equals the previous one. */
  repeated: boolean
}

export function createReplyHead(): ReplyHead {
  return {
    status: 0,
    headers: new HeaderList(),
    length: 0,
    persistent: true,
    idleSeconds: 0,
    repeated: false,
  }
}

/**
 * Parses a status line and its headers (RFC 9112 §4, §5, §6.3).
 *
 * @param text starts with the head, one byte per character.
 * @returns the offset after the empty line; 0 if incomplete; or a string with the reason why the head is malformed.
 */
export function parseReplyHead(text: string, head: ReplyHead, memory: LineMemory): number | string {
  const headers = new HeaderList()
  let length = UNTIL_CLOSE
  let chunked = false
  let connection = ''
  let keepAlive = ''
  let repeated = true
  let at = 0
  for (let i = 0; ; i++) {
    let line = memory[i]
    if (line === undefined || text.slice(at, at + line.text.length) !== line.text) {
      const stop = text.indexOf('\r\n', at)
      if (stop < 0) return BARE_LINE_FEED.test(text) ? 'bare line feed in the head' : 0
      if (stop === at && i > 0) break
      // Only the first line at a position is cached, since caching more would cost more than parsing.
      const isNew = line === undefined && i < MEMORY_LINES && stop - at < MEMORY_LINE_LENGTH - 2
      const parsed = isNew ? findLine(text, at, stop) : parseLine(text, at, stop, i === 0)
      if (typeof parsed === 'string') return parsed
      line = parsed
      repeated = false
      if (i < MEMORY_LINES && line.text.length <= MEMORY_LINE_LENGTH) memory[i] = line
    }
    at += line.text.length
    if (!line.ascii) headers.ascii = false
    switch (line.meaning) {
      case PASS:
        appendParsed(headers, line.name, line.value)
        break
      case CONTENT_LENGTH:
        if (length !== UNTIL_CLOSE) return 'more than one Content-Length'
        length = line.number
        break
      case TRANSFER_ENCODING:
        if (chunked) return 'more than one Transfer-Encoding'
        chunked = true
        break
      case CONNECTION:
        connection = connection === '' ? line.value : `${connection},${line.value}`
        break
      case KEEP_ALIVE:
        keepAlive = line.value
        break
      case DATE:
        headers.date = line.value
        break
      case STATUS:
        head.status = line.number
        head.persistent = line.text.charCodeAt(7) === 49
        break
    }
  }
  if (chunked) {
    if (length !== UNTIL_CLOSE) return 'both Content-Length and Transfer-Encoding'
    if (!head.persistent) return 'Transfer-Encoding in an HTTP/1.0 response'
    length = CHUNKED
  }
  head.headers = headers
  head.length = length
  head.idleSeconds = 0
  head.repeated = repeated
  if (connection !== '') readConnection(connection.toLowerCase(), head)
  if (keepAlive !== '') readKeepAlive(keepAlive, head)
  return at + 2
}

/** Returns the cached line of another node, or a new line that does not retain the surrounding text. */
function findLine(text: string, start: number, stop: number): Line | string {
  const isFirst = start === 0
  const line = text.slice(start, stop + 2)
  const known = LINES.get(line)
  if (known !== undefined && (known.meaning === STATUS) === isFirst) return known
  const flat = flattenString(line)
  const parsed = parseLine(flat, 0, stop - start, isFirst)
  if (typeof parsed !== 'string') LINES.set(flat, parsed)
  return parsed
}

function parseLine(text: string, start: number, stop: number, isFirst: boolean): Line | string {
  return isFirst ? parseStatusLine(text, stop) : parseField(text, start, stop)
}

function parseStatusLine(text: string, stop: number): Line | string {
  const line = text.slice(0, stop)
  if (!STATUS_LINE.test(line) || FORBIDDEN.test(line)) {
    return 'status line must be HTTP/1.1, a code of three digits and a reason'
  }
  const number = Number(line.slice(9, 12))
  return {
    text: text.slice(0, stop + 2),
    meaning: STATUS,
    name: '',
    value: '',
    number,
    ascii: true,
  }
}

function parseField(text: string, start: number, stop: number): Line | string {
  const line = text.slice(start, stop)
  const ascii = ASCII_LINE.test(line)
  if (!ascii && FORBIDDEN.test(line)) return 'control character in a header'
  const colon = line.indexOf(':')
  if (colon < 0) return 'header without a colon'
  const raw = line.slice(0, colon)
  if (!TOKEN.test(raw)) return 'header name must be a token'
  const name = raw.toLowerCase()
  const value = trimBlanks(line, colon + 1)
  const meaning = HEADER_KINDS.get(name) ?? PASS
  let number = 0
  if (meaning === CONTENT_LENGTH) {
    if (!DIGITS.test(value)) return 'Content-Length must be 1 to 15 digits'
    number = Number(value)
  } else if (meaning === TRANSFER_ENCODING && value.toLowerCase() !== 'chunked') {
    return 'Transfer-Encoding must be chunked'
  }
  return { text: text.slice(start, stop + 2), meaning, name, value, number, ascii }
}

/** Strips only the whitespace defined in RFC 9110 §5.5, unlike `trim`. */
function trimBlanks(line: string, start: number): string {
  let from = start
  let to = line.length
  while (from < to && isBlank(line.charCodeAt(from))) from++
  while (to > from && isBlank(line.charCodeAt(to - 1))) to--
  return line.slice(from, to)
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9
}

function readKeepAlive(value: string, head: ReplyHead): void {
  const seconds = /timeout=(\d{1,6})/i.exec(value)?.[1]
  if (seconds === undefined) return
  head.idleSeconds = Number(seconds)
  if (head.idleSeconds === 0) head.persistent = false
}

function readConnection(value: string, head: ReplyHead): void {
  if (value === 'keep-alive') {
    head.persistent = true
    return
  }
  let close = false
  for (const part of value.split(',')) {
    const token = part.trim()
    if (token === 'close') close = true
    else if (token === 'keep-alive') head.persistent = true
    else head.headers.delete(token)
  }
  if (close) head.persistent = false
}
