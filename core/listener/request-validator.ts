import { DirectMappedCache } from '../../lib/collections/direct-mapped-cache.ts'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import { appendParsed, HeaderList } from '../http/headers.ts'
import { isHostHeader } from '../http/host/host-header.ts'
import { rejectMethod, STANDARD_METHODS } from '../http/methods.ts'
import { checkPath, NOT_ENCODED } from '../path/check.ts'
import { checkValue, hasNonAscii, isPrintable } from './header-value.ts'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const QUERY = /^[!"$-~]*$/
const SHORT_QUERY = 24
const HASH = 0x23
const LENGTH_MAX_DIGITS = 15
const ENCODED_SLASH = /%2f/i
/**
 * Headers that `Connection` must not remove: gateway headers, and headers that identify the client or frame the
 * message.
 */
const UNNAMEABLE =
  /^(?:host|content-length|authorization|cookie|client-cert.*|forwarded|via|x-forwarded-.*|x-real-ip|x-request-id|mx-.*)$/

/**
 * Validates request line, headers and framing against request smuggling (RFC 9112 §11.2), more strictly than the
 * parser.
 *
 * One instance serves a whole listener, because a request is read in one synchronous pass: {@link reset},
 * {@link addBytes} per header, then {@link validate}.
 */
export class RequestValidator {
  headers: HeaderList = new HeaderList()
  host = ''
  path = ''
  /** 0 without a body, -1 if chunked. */
  bodyLength = 0
  /** Whether the connection closes after the response, as requested by the client or required by the framing. */
  closing = false
  /** Whether the client requested it by `Connection: close` without other tokens. */
  clientCloses = false
  websocket = false
  #contentLengths = 0
  #transferEncodings = 0
  #hosts = 0
  #badLength = false
  #badEncoding = false
  /** Why a value is malformed; empty if all are valid. */
  #badValue = ''
  #connection = ''
  #upgrade = ''
  /** The last valid host. */
  #lastHost = 'localhost'
  /** Valid paths. Returns the same string each time, whose hash has already been computed for lookups. */
  readonly #paths = new DirectMappedCache<string>()
  readonly #internalHeaders: boolean
  readonly #encodedSlashes: () => boolean

  /**
   * @param internalHeaders whether to forward `mx-*` headers because all clients are part of the platform.
   * @param encodedSlashes whether paths may contain `%2F`. Called for each request, since the service decides.
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

  /** Adds a header whose value may contain any byte, one per character. */
  addBytes(name: string, value: string): void {
    if (!isPrintable(value)) {
      if (hasNonAscii(value)) this.headers.ascii = false
      this.#badValue ||= checkValue(name, value) ?? ''
    }
    this.add(name, value)
  }

  /**
   * Adds a header whose value is visible ASCII or is validated later, such as `host`; `name` is in lower case. Drops
   * hop-by-hop and framing headers (RFC 9110 §7.6.1), names with an underscore, which backends confuse with dashes, and
   * `mx-*` and `client-cert*` headers, which only the gateway may set. Clients may set `mx-namespace`.
   */
  add(name: string, value: string): void {
    // By length first: a single number comparison suffices for most headers.
    switch (name.length) {
      case 2:
        if (name === 'te') return
        break
      case 4:
        if (name === 'host') {
          this.#hosts++
          // Usually the host of the last request. Reusing the string makes later comparisons cheap.
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
          this.bodyLength = parseLength(value)
          if (this.bodyLength < 0) this.#badLength = true
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

  /**
   * Must be called after the last header. Returns the error to send before the connection is closed, or undefined if
   * the request is valid.
   */
  validate(method: string, path: string, query: string): GatewayError | undefined {
    this.path = path
    const lengths = this.#contentLengths
    const encodings = this.#transferEncodings
    if (encodings > 0) this.bodyLength = -1
    if (this.#badValue !== '') return reject(this.#badValue)
    if (lengths + encodings > 1)
      return reject('request must contain at most one Content-Length or Transfer-Encoding header')
    if (this.#badLength) return reject('Content-Length must be 1 to 15 digits')
    if (this.#badEncoding) return reject('Transfer-Encoding must be chunked')
    if (this.#hosts !== 1 || !this.#isHost(this.host))
      return reject('request must contain one Host header with a name or an address')
    const cached = this.#paths.get(path)
    if (cached !== undefined) this.path = cached
    else {
      const isEncoded = path.includes('%')
      const problem = checkPath(path, isEncoded && this.#encodedSlashes())
      if (problem !== undefined) return reject(problem)
      // The result for an encoded slash may change.
      if (!isEncoded || !ENCODED_SLASH.test(path)) this.#paths.set(path, path)
    }
    if (!isQuery(query)) return reject(NOT_ENCODED)
    if (this.#connection !== '') this.#readConnection()
    switch (method) {
      case 'GET':
      case 'HEAD':
      case 'OPTIONS':
      case 'DELETE':
        // A body is valid here but unusual, and the classic carrier of a smuggled request.
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
        if (!TOKEN.test(method)) return reject('method must be a token')
        // Methods are case-sensitive (RFC 9110 §9.1), but some backends are not: `post` would bypass rules for POST.
        return STANDARD_METHODS.has(method.toUpperCase()) && method !== method.toUpperCase()
          ? reject(`method must be in upper case: ${method.toUpperCase()}`)
          : undefined
    }
  }

  #isHost(host: string): boolean {
    if (host === this.#lastHost) return true
    if (!isHostHeader(host)) return false
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

/**
 * Parses `Content-Length` (RFC 9110 §8.6); -1 if malformed. A loop is cheaper than a regular expression and `Number`.
 */
function parseLength(value: string): number {
  const { length } = value
  if (length === 0 || length > LENGTH_MAX_DIGITS) return -1
  let bytes = 0
  for (let i = 0; i < length; i++) {
    const digit = value.charCodeAt(i) - 0x30
    if (digit < 0 || digit > 9) return -1
    bytes = bytes * 10 + digit
  }
  return bytes
}

function isQuery(query: string): boolean {
  // For short queries, a loop is cheaper than starting a regular expression.
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
