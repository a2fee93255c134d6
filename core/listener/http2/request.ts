import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import { rejectMethod } from '../../http/methods.ts'
import { HEADER_MAX_BYTES } from '../limits.ts'
import { tooLargeHead } from '../node/errors.ts'
import type { RequestValidator } from '../request-validator.ts'

/** Parts of an HTTP/2 head that the validator does not store. */
export interface Http2Request {
  readonly method: string
  readonly path: string
  readonly query: string
  /** `te: trailers` (RFC 9113 §8.2.2). */
  readonly takesTrailers: boolean
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly expecting: boolean
  readonly malformed: GatewayError | undefined
}

/**
 * Reads a head into `guard` and validates it like an HTTP/1.1 head, with the additional rules of RFC 9113 §8.2 and
 * §8.3. nghttp2 has already checked that names are lower case and that pseudo-headers are unique and come first, and
 * rejects connection-specific headers.
 *
 * @param rawHeaders name, value, name, value… as received.
 * @param ended whether the head is the whole request.
 */
export function readHttp2Head(
  rawHeaders: readonly string[],
  ended: boolean,
  guard: RequestValidator,
): Http2Request {
  let method = ''
  let scheme = ''
  let target = ''
  let authority: string | undefined
  let host: string | undefined
  let cookie = ''
  let takesTrailers = false
  let expecting = false
  let hasLength = false
  let hosts = 0
  let bytes = 0
  guard.reset()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    const value = rawHeaders[i + 1]!
    bytes += name.length + value.length + 4
    switch (name) {
      case ':method':
        method = value
        break
      case ':scheme':
        scheme = value
        break
      case ':path':
        target = value
        break
      case ':authority':
        authority = value
        break
      case 'host':
        hosts++
        host = value
        break
      case 'cookie':
        // HTTP/2 clients may split cookies for compression; HTTP/1.1 allows one header (RFC 9113 §8.2.3).
        cookie = cookie === '' ? value : `${cookie}; ${value}`
        break
      case 'te':
        takesTrailers = value === 'trailers'
        break
      case 'expect':
        expecting = !ended && value.toLowerCase() === '100-continue'
        guard.addBytes(name, value)
        break
      case 'content-length':
        hasLength = true
        guard.addBytes(name, value)
        break
      default:
        guard.addBytes(name, value)
    }
  }
  if (cookie !== '') guard.addBytes('cookie', cookie)
  const hostValue = authority ?? host
  if (hostValue !== undefined) guard.add('host', hostValue)
  if (!ended && !hasLength) guard.bodyLength = -1
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const query = mark < 0 ? '' : target.slice(mark + 1)
  // RFC 9112 §3.2.4: the target is the server as a whole.
  const isAsterisk = path === '*' && method === 'OPTIONS'
  let malformed = guard.validate(method, isAsterisk ? '/' : path, query)
  if (bytes > HEADER_MAX_BYTES) malformed = tooLargeHead()
  // CONNECT has no path or scheme (RFC 9113 §8.5).
  else if (method === 'CONNECT') malformed = rejectMethod(method)
  else if (scheme !== 'http' && scheme !== 'https')
    malformed = reject(':scheme must be http or https')
  else if (hosts > 1 || (host !== undefined && host.toLowerCase() !== hostValue!.toLowerCase()))
    malformed = reject('Host header must not be repeated and must equal :authority')
  return {
    method,
    path: isAsterisk ? path : guard.path,
    query,
    takesTrailers,
    expecting,
    malformed,
  }
}

function reject(detail: string): GatewayError {
  return new GatewayError(GATEWAY_ID, 400, detail)
}
