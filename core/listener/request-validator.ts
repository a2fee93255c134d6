import { DirectMappedCache } from '../../lib/collections/direct-mapped-cache.ts'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import { appendParsed, HeaderList } from '../http/headers.ts'
import { rejectMethod } from '../http/methods.ts'
import { checkValue, hasNonAscii, isPrintable } from './header-value.ts'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** RFC 3986 §3.2.2: reg-name or IPv4 without percent-encoding, or a bracketed IPv6 address; then an optional port. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_~-][A-Za-z0-9._~-]*)(?::\d{1,5})?$/
/** RFC 3986 §3.3 and further characters that browsers send; no control or non-ASCII byte, no space, `#` or `\`. */
const PATH = /^\/[!"$-[\]-~]*$/
const QUERY = /^[!"$-~]*$/
const SHORT_QUERY = 24
const HASH = 0x23
const NOT_ENCODED = 'the request target contains a character that must be percent-encoded'
const LENGTH = /^\d{1,15}$/
/** Encoded bytes that change the meaning of a path, NUL and `\`, and malformed escapes. */
const ENCODED_TRAP = /%(?:00|5c|(?![0-9a-f]{2}))/i
const ENCODED_SLASH = /%2f/gi
const HAS_ENCODED_SLASH = /%2f/i
/**
 * Parts that servers interpret differently in a path with an encoded slash: a path parameter ends before or after that slash,
 * and a double decoding results in other segments.
 */
const ENCODED_SLASH_TRAP = /;|%3b|%25[0-9a-f]{2}/i
/** A `.` or `..` segment, literal or percent-encoded, also with path parameters. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:[/;]|%3b|$)/i
/** Headers that `Connection` must not remove: those of the gateway, and those that identify the client or frame the message. */
const UNNAMEABLE =
  /^(?:host|content-length|authorization|cookie|client-cert.*|forwarded|via|x-forwarded-.*|x-real-ip|x-request-id|mx-.*)$/

/**
 * Validates request line, headers and framing against request smuggling (RFC 9112 §11.2), more strictly than the parser.
 *
 * One instance serves a whole listener, because a request is captured in one synchronous pass: {@link reset}, {@link addBytes}
 * per header, {@link validate}.
 */
export class RequestValidator {
  headers: HeaderList = new HeaderList()
  host = ''
  /** The validated path. */
  path = ''
  /** 0: none; -1: chunked. */
  bodyLength = 0
  /** The connection closes after the response: requested by the client, or required by the framing. */
  closing = false
  /** The client requested that by `Connection: close`, without other tokens. */
  clientCloses = false
  websocket = false
  #contentLengths = 0
  #transferEncodings = 0
  #hosts = 0
  #badLength = false
  #badEncoding = false
  /** Why a value is malformed; empty: all are valid. */
  #badValue = ''
  #connection = ''
  #upgrade = ''
  /** The last valid host. */
  #lastHost = 'localhost'
  /** Valid paths. Returns the same string each time, whose hash is already known for lookups. */
  readonly #paths = new DirectMappedCache<string>()
  readonly #internalHeaders: boolean
  readonly #encodedSlashes: () => boolean

  /**
   * @param internalHeaders whether to pass `mx-*` headers on: all clients are part of the platform.
   * @param encodedSlashes whether paths may contain `%2F`, at present: the service decides about each request.
   */
  constructor(internalHeaders = false, encodedSlashes = (): boolean => false) {
    this.#internalHeaders = internalHeaders
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

  /** Adds a header whose value may contain any byte, one character each. */
  addBytes(name: string, value: string): void {
    if (!isPrintable(value)) {
      if (hasNonAscii(value)) this.headers.ascii = false
      this.#badValue ||= checkValue(name, value) ?? ''
    }
    this.add(name, value)
  }

  /**
   * Adds a header whose value is visible ASCII, or is validated later, as that of `host` is; `name` in lower case.
   * Drops hop-by-hop and framing headers (RFC 9110 §7.6.1), names with an underscore, which backends confuse with dashes,
   * and `mx-*` and `client-cert*` headers, which only the gateway may set; `mx-namespace` is the client's choice.
   */
  add(name: string, value: string): void {
    // By length first: one comparison of numbers suffices for most headers.
    switch (name.length) {
      case 2:
        if (name === 'te') return
        break
      case 4:
        if (name === 'host') {
          this.#hosts++
          // Usually the host of the last request. The same string, so that later comparisons need not read it.
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
        // Only the gateway may set the client certificate (RFC 9440 §4).
        if (name === 'client-cert' && !this.#internalHeaders) return
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
        if (name === 'client-cert-chain' && !this.#internalHeaders) return
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
      if (!this.#internalHeaders && name !== 'mx-namespace') return
    }
    if (name.includes('_')) return
    appendParsed(this.headers, name, value)
  }

  /** To be called after the last header. Returns the error to send before the connection is closed; undefined: the request is valid. */
  validate(method: string, path: string, query: string): GatewayError | undefined {
    this.path = path
    const lengths = this.#contentLengths
    const encodings = this.#transferEncodings
    if (encodings > 0) this.bodyLength = -1
    if (this.#badValue !== '') return reject(this.#badValue)
    if (lengths + encodings > 1)
      return reject(
        'expected one Content-Length or one Transfer-Encoding header, not both or several',
      )
    if (this.#badLength) return reject('Content-Length must be 1 to 15 digits')
    if (this.#badEncoding) return reject('Transfer-Encoding must be chunked')
    if (this.#hosts !== 1 || !this.#isHost(this.host))
      return reject('expected one Host header with a name or an address')
    const cached = this.#paths.find(path)
    if (cached !== undefined) this.path = cached
    else {
      const problem = checkPath(path, this.#encodedSlashes)
      if (problem !== undefined) return reject(problem)
      // The answer for others may change.
      if (!HAS_ENCODED_SLASH.test(path)) this.#paths.keep(path, path)
    }
    if (!isQuery(query)) return reject(NOT_ENCODED)
    if (this.#connection !== '') this.#readConnection()
    switch (method) {
      case 'GET':
      case 'HEAD':
      case 'OPTIONS':
      case 'DELETE':
        // A body is legal here but unusual: the classic carrier of a smuggled request.
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
        return TOKEN.test(method) ? undefined : reject('the method must be a token')
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

/** Returns why a path is invalid; undefined: it is valid. */
function checkPath(path: string, encodedSlashes: () => boolean): string | undefined {
  if (!PATH.test(path)) return NOT_ENCODED
  const isEscaped = path.includes('%')
  if (isEscaped && ENCODED_TRAP.test(path))
    return 'the path must not contain %00, %5C or a malformed escape'
  // Segments are checked as a backend sees them that decodes the slash.
  const decoded = isEscaped ? path.replace(ENCODED_SLASH, '/') : path
  if (decoded !== path) {
    if (!encodedSlashes()) return 'the path must not contain %2F'
    if (ENCODED_SLASH_TRAP.test(path))
      return 'a path with %2F must not contain ";", %3B or an encoded percent sign'
  }
  if ((isEscaped || path.includes('/.')) && DOT_SEGMENT.test(decoded))
    return 'the path must not contain "." or ".." segments'
  return undefined
}

function isQuery(query: string): boolean {
  // For short queries a loop costs less than starting a regular expression.
  if (query.length > SHORT_QUERY) return QUERY.test(query)
  for (let i = 0; i < query.length; i++) {
    const code = query.charCodeAt(i)
    if (code < 0x21 || code > 0x7e || code === HASH) return false
  }
  return true
}

function reject(detail: string): GatewayError {
  return new GatewayError(GATEWAY_ID, 400, detail)
}
