import { DirectMappedCache } from '../../lib/collections/direct-mapped-cache.ts'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import { appendParsed, HeaderList } from '../http/headers.ts'
import { rejectMethod } from '../http/methods.ts'
import { hasNonAscii, isPrintable, judgeValue } from './header-value.ts'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** RFC 3986 §3.2.2: reg-name or IPv4 without percent-encoding, or a bracketed IPv6 address; then an optional port. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_~-][A-Za-z0-9._~-]*)(?::\d{1,5})?$/
/** RFC 3986 §3.3 and what browsers send beside it; no control or non-ASCII byte, no blank, `#` or `\`. */
const PATH = /^\/[!"$-[\]-~]*$/
const QUERY = /^[!"$-~]*$/
const SHORT_QUERY = 24
const HASH = 0x23
const NOT_ENCODED = 'the request target holds a character that must be percent-encoded'
const LENGTH = /^\d{1,15}$/
/** Bytes that change what a path means after decoding, NUL and `\`, and malformed escapes. */
const ENCODED_TRAP = /%(?:00|5c|(?![0-9a-f]{2}))/i
const ENCODED_SLASH = /%2f/gi
/**
 * What readers of a path with an encoded slash understand differently: a path parameter ends before or behind that slash, and what is
 * decoded twice has other segments.
 */
const ENCODED_SLASH_TRAP = /;|%3b|%25[0-9a-f]{2}/i
/** A `.` or `..` segment, plainly or percent-encoded, also with path parameters behind it. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:[/;]|%3b|$)/i
/** Fields a `Connection` header may name without effect: ours, and those that decide who the client is and where the message ends. */
const UNNAMEABLE =
  /^(?:host|content-length|authorization|cookie|client-cert.*|forwarded|via|x-forwarded-.*|x-real-ip|x-request-id|mx-.*)$/

/**
 * Collects the fields of one request and judges its framing: the strictness
 * that the parser below it lacks.
 *
 * One instance serves a whole listener, since a request is captured in one
 * synchronous pass: {@link reset}, {@link addBytes} per field, {@link judge}.
 */
export class RequestValidator {
  headers: HeaderList = new HeaderList()
  host = ''
  /** As it was judged. */
  path = ''
  /** 0: none; -1: chunked. */
  bodyLength = 0
  /** The client asks for, or its framing demands, the end of the connection after the reply. */
  closing = false
  /** The client asked for it by `Connection: close`, and nothing else. */
  clientCloses = false
  websocket = false
  #contentLengths = 0
  #transferEncodings = 0
  #hosts = 0
  #badLength = false
  #badEncoding = false
  /** Why a value is malformed; empty: none is. */
  #badValue = ''
  #connection = ''
  #upgrade = ''
  /** The last host that was a correct one. */
  #lastHost = 'localhost'
  /** Paths that were right, each as the same string as last time, which whoever looks it up need not hash again. */
  readonly #paths = new DirectMappedCache<string>()
  readonly #internalFields: boolean
  readonly #encodedSlashes: boolean

  /**
   * @param internalFields whether `mx-*` fields are kept: who sends them is part of the platform.
   * @param encodedSlashes whether paths may hold `%2F`: who is served by the path decides about each request.
   */
  constructor(internalFields = false, encodedSlashes = false) {
    this.#internalFields = internalFields
    this.#encodedSlashes = encodedSlashes
  }

  reset(): void {
    this.headers = new HeaderList()
    this.host = ''
    this.bodyLength = 0
    this.closing = false
    this.clientCloses = false
    this.websocket = false
    this.#contentLengths = 0
    this.#transferEncodings = 0
    this.#hosts = 0
    this.#badLength = false
    this.#badEncoding = false
    this.#badValue = ''
    this.#connection = ''
    this.#upgrade = ''
  }

  /** Adds a field whose value may hold any byte, one character each. */
  addBytes(name: string, value: string): void {
    if (!isPrintable(value)) {
      if (hasNonAscii(value)) this.headers.ascii = false
      this.#badValue ||= judgeValue(name, value) ?? ''
    }
    this.add(name, value)
  }

  /**
   * Adds a field whose value is visible ASCII, or is checked as a whole, as that of `host` is; `name` in lower case.
   * Hop-by-hop and framing fields are read and not kept (RFC 9110 §7.6.1), as are names with an underscore, which
   * backends confuse with dashes, and `mx-*` and `client-cert*` fields, which only the gateway may set; `mx-namespace`
   * is the client's choice.
   */
  add(name: string, value: string): void {
    // By length first: most fields leave after one comparison of numbers.
    switch (name.length) {
      case 2:
        if (name === 'te') return
        break
      case 4:
        if (name === 'host') {
          this.#hosts++
          // Mostly that of the last request; as the same string, so that who compares it with what he knows need not look into it.
          this.host = value === this.#lastHost ? this.#lastHost : value
          return
        }
        break
      case 6:
        if (name === 'expect') return
        break
      case 7:
        if (name === 'upgrade') {
          this.#upgrade = value
          return
        }
        if (name === 'trailer') return
        break
      case 10:
        if (name === 'connection') {
          this.#connection = this.#connection === '' ? value : `${this.#connection},${value}`
          return
        }
        if (name === 'keep-alive') return
        break
      case 11:
        // Who the client has proved to be is the gateway's to say (RFC 9440 §4).
        if (name === 'client-cert' && !this.#internalFields) return
        break
      case 14:
        if (name === 'content-length') {
          this.#contentLengths++
          if (LENGTH.test(value)) this.bodyLength = Number(value)
          else this.#badLength = true
          return
        }
        if (name === 'http2-settings') return
        break
      case 16:
        if (name === 'proxy-connection') return
        break
      case 17:
        if (name === 'client-cert-chain' && !this.#internalFields) return
        if (name === 'transfer-encoding') {
          this.#transferEncodings++
          if (value.toLowerCase() !== 'chunked') this.#badEncoding = true
          return
        }
        break
      case 18:
        if (name === 'proxy-authenticate') return
        break
      case 19:
        if (name === 'proxy-authorization') return
        break
      case 25:
        if (name === 'proxy-authentication-info') return
        break
    }
    if (name.charCodeAt(0) === 109 && name.startsWith('mx-')) {
      if (!this.#internalFields && name !== 'mx-namespace') return
    }
    if (name.includes('_')) return
    appendParsed(this.headers, name, value)
  }

  /** After the last field: the error to answer with, connection closed, or undefined for a request that may be served. */
  judge(method: string, path: string, query: string): GatewayError | undefined {
    this.path = path
    const lengths = this.#contentLengths
    const encodings = this.#transferEncodings
    if (encodings > 0) this.bodyLength = -1
    if (this.#badValue !== '') return refuse(this.#badValue)
    if (lengths + encodings > 1)
      return refuse('one Content-Length or one Transfer-Encoding expected, not both or several')
    if (this.#badLength) return refuse('Content-Length must be 1 to 15 digits')
    if (this.#badEncoding) return refuse('Transfer-Encoding must be chunked')
    if (this.#hosts !== 1 || !this.#isHost(this.host))
      return refuse('one Host field with a name or an address expected')
    const known = this.#paths.find(path)
    if (known !== undefined) this.path = known
    else {
      const wrong = judgePath(path, this.#encodedSlashes)
      if (wrong !== undefined) return refuse(wrong)
      this.#paths.keep(path, path)
    }
    if (!isQuery(query)) return refuse(NOT_ENCODED)
    if (this.#connection !== '') this.#readConnection()
    switch (method) {
      case 'GET':
      case 'HEAD':
      case 'OPTIONS':
      case 'DELETE':
        // A body here is legal but unusual: the classic carrier of a smuggled request.
        if (this.bodyLength !== 0) this.closing = true
        return undefined
      case 'POST':
      case 'PUT':
      case 'PATCH':
        if (lengths === 0) this.closing = true
        return undefined
      case 'CONNECT':
      case 'TRACE':
        return rejectMethod(method)
      default:
        this.closing = true
        return TOKEN.test(method) ? undefined : refuse('the method must be a token')
    }
  }

  #isHost(host: string): boolean {
    if (host === this.#lastHost) return true
    if (!HOST.test(host)) return false
    this.#lastHost = host
    return true
  }

  #readConnection(): void {
    const value = this.#connection.toLowerCase()
    if (value === 'keep-alive') return
    if (value === 'close') {
      this.closing = true
      this.clientCloses = true
      return
    }
    for (const part of value.split(',')) {
      const token = part.trim()
      if (token === 'close') this.closing = true
      else if (token === 'upgrade') this.websocket = this.#upgrade.toLowerCase() === 'websocket'
      else if (token !== '' && !UNNAMEABLE.test(token)) this.headers.delete(token)
    }
  }
}

/** What is wrong with a path; undefined: nothing. */
function judgePath(path: string, encodedSlashes: boolean): string | undefined {
  if (!PATH.test(path)) return NOT_ENCODED
  const isEscaped = path.includes('%')
  if (isEscaped && ENCODED_TRAP.test(path))
    return 'the path must not hold %00, %5C or a malformed escape'
  // Segments are checked as a backend sees them that decodes the slash.
  const decoded = isEscaped ? path.replace(ENCODED_SLASH, '/') : path
  if (decoded !== path) {
    if (!encodedSlashes) return 'the path must not hold %2F'
    if (ENCODED_SLASH_TRAP.test(path))
      return 'a path with %2F must not hold ";", %3B or a percent sign that is encoded itself'
  }
  if ((isEscaped || path.includes('/.')) && DOT_SEGMENT.test(decoded))
    return 'the path must not hold "." or ".." segments'
  return undefined
}

function isQuery(query: string): boolean {
  // A look at each character of a short one is less than beginning an expression.
  if (query.length > SHORT_QUERY) return QUERY.test(query)
  for (let i = 0; i < query.length; i++) {
    const code = query.charCodeAt(i)
    if (code < 0x21 || code > 0x7e || code === HASH) return false
  }
  return true
}

function refuse(detail: string): GatewayError {
  return new GatewayError(GATEWAY_ID, 400, detail)
}
