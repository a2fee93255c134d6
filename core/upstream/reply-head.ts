import { HeaderList } from '../headers.ts'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const DIGITS = /^\d{1,15}$/
/** Whatever an ASCII head with CRLF line ends does not hold: one pass finds both what is forbidden and what is merely rare. */
const UNUSUAL = /[^\t\r\n\x20-\x7e]|\r(?!\n)|(?<!\r)\n/
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/
/** RFC 9112 §4. Backends that leave out the blank before an empty reason are many. */
const STATUS_LINE = /^HTTP\/1\.[01] [1-5]\d\d(?: .*)?$/

/** What a field means to the connection it came on. */
const PASS = 0
const DROP = 1
const CONTENT_LENGTH = 2
const TRANSFER_ENCODING = 3
const CONNECTION = 4
const KEEP_ALIVE = 5

/** Fields that end here: hop-by-hop (RFC 9110 §7.6.1), and `Date`, which listeners write themselves. */
const MEANING: Readonly<Record<string, number>> = {
  'content-length': CONTENT_LENGTH,
  'transfer-encoding': TRANSFER_ENCODING,
  connection: CONNECTION,
  'keep-alive': KEEP_ALIVE,
  'proxy-connection': DROP,
  'proxy-authenticate': DROP,
  'proxy-authentication-info': DROP,
  'proxy-authorization': DROP,
  te: DROP,
  trailer: DROP,
  upgrade: DROP,
  date: DROP,
}

interface FieldName {
  readonly lower: string
  readonly meaning: number
}

/** Names as backends write them: checked and lowered once. Bounded, since backends choose them. */
const names = new Map<string, FieldName>()
const NAMES_MAX = 2000

/** The body goes on until the connection ends (RFC 9112 §6.3, case 8). */
export const UNTIL_CLOSE = -2
export const CHUNKED = -1

/** A parsed reply head. One per connection, filled anew for every reply. */
export interface ReplyHead {
  status: number
  /** End-to-end fields. */
  headers: HeaderList
  /** Bytes announced by Content-Length, {@link CHUNKED} or {@link UNTIL_CLOSE}. */
  length: number
  /** Whether the backend keeps the connection after this reply. */
  persistent: boolean
  /** Seconds the backend keeps an idle connection, from `Keep-Alive: timeout=`; 0: not said. */
  idleSeconds: number
}

/**
 * Parses status line and fields, without the empty line that ends them.
 *
 * @param text one character a byte; every line ends in CRLF but the last.
 * @returns undefined when `head` was filled, else what is malformed (RFC 9112 §4, §5, §6.3).
 */
export function parseReplyHead(text: string, head: ReplyHead): string | undefined {
  const headers = new HeaderList()
  if (UNUSUAL.test(text)) {
    if (FORBIDDEN.test(text)) return 'control character or bare line end in the head'
    headers.ascii = false
  }
  const end = text.length
  const eol = text.indexOf('\r')
  const statusLine = eol < 0 ? text : text.slice(0, eol)
  if (!STATUS_LINE.test(statusLine))
    return 'status line must be HTTP/1.1, a code of three digits and a reason'
  const minor = statusLine.charCodeAt(7) - 48
  let length = UNTIL_CLOSE
  let chunked = false
  let connection = ''
  let keepAlive = ''
  for (let start = eol < 0 ? end : eol + 2; start < end; ) {
    let stop = text.indexOf('\r', start)
    if (stop < 0) stop = end
    const colon = text.indexOf(':', start)
    if (colon < 0 || colon > stop) return 'field without a colon'
    const raw = text.slice(start, colon)
    const name = names.get(raw) ?? learnName(raw)
    if (name === undefined) return 'field name must be a token'
    let from = colon + 1
    let to = stop
    while (from < to && isBlank(text.charCodeAt(from))) from++
    while (to > from && isBlank(text.charCodeAt(to - 1))) to--
    const value = text.slice(from, to)
    start = stop + 2
    switch (name.meaning) {
      case PASS:
        headers.appendParsed(name.lower, value)
        break
      case CONTENT_LENGTH:
        if (length !== UNTIL_CLOSE) return 'more than one Content-Length'
        if (!DIGITS.test(value)) return 'Content-Length must be 1 to 15 digits'
        length = Number(value)
        break
      case TRANSFER_ENCODING:
        if (chunked || value.toLowerCase() !== 'chunked')
          return 'Transfer-Encoding must be chunked, once'
        chunked = true
        break
      case CONNECTION:
        connection = connection === '' ? value : `${connection},${value}`
        break
      case KEEP_ALIVE:
        keepAlive = value
        break
    }
  }
  if (chunked) {
    if (length !== UNTIL_CLOSE) return 'both Content-Length and Transfer-Encoding'
    if (minor === 0) return 'Transfer-Encoding in a reply of HTTP/1.0'
    length = CHUNKED
  }
  head.status = Number(statusLine.slice(9, 12))
  head.headers = headers
  head.length = length
  head.persistent = minor === 1
  head.idleSeconds = keepAlive === '' ? 0 : Number(/timeout=(\d{1,6})/i.exec(keepAlive)?.[1] ?? 0)
  if (connection !== '') readConnection(connection.toLowerCase(), head)
  return undefined
}

function readConnection(value: string, head: ReplyHead): void {
  if (value === 'keep-alive') {
    head.persistent = true
    return
  }
  if (value === 'close') {
    head.persistent = false
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

function learnName(raw: string): FieldName | undefined {
  if (!TOKEN.test(raw)) return undefined
  const lower = raw.toLowerCase()
  const name = { lower, meaning: Object.hasOwn(MEANING, lower) ? MEANING[lower]! : PASS }
  if (names.size < NAMES_MAX) names.set(raw, name)
  return name
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9
}
