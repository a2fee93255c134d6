import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import { rejectMethod } from '../../http/methods.ts'
import { HEADER_MAX_BYTES } from '../limits.ts'
import { tooLargeHead } from '../node/errors.ts'
import type { RequestValidator } from '../request-validator.ts'

/** What a head of HTTP/2 says besides what the guard keeps. */
export interface Http2Request {
  readonly method: string
  readonly path: string
  readonly query: string
  /** `te: trailers` (RFC 9113 §8.2.2). */
  readonly takesTrailers: boolean
  /** The client waits for `100 Continue` before it sends the body. */
  readonly expecting: boolean
  readonly malformed: GatewayError | undefined
}

/**
 * Reads a head into `guard`, and judges it as one of HTTP/1.1 is, with the rules of RFC 9113 §8.2 and §8.3 on top. What nghttp2 lets
 * through has lower-case names, no field of the connection, and its pseudo fields first and once.
 *
 * @param rawHeaders name, value, name, value… as received.
 * @param ended the head is the whole request.
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
        // In pieces for the sake of compression; whoever is not HTTP/2 knows one only (RFC 9113 §8.2.3).
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
  const named = authority ?? host
  if (named !== undefined) guard.add('host', named)
  if (!ended && !hasLength) guard.bodyLength = -1
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const query = mark < 0 ? '' : target.slice(mark + 1)
  // RFC 9112 §3.2.4: the server as a whole, whatever its paths are.
  const isWhole = path === '*' && method === 'OPTIONS'
  let malformed = guard.judge(method, isWhole ? '/' : path, query)
  if (bytes > HEADER_MAX_BYTES) malformed = tooLargeHead()
  // It has neither path nor scheme (RFC 9113 §8.5).
  else if (method === 'CONNECT') malformed = rejectMethod(method)
  else if (scheme !== 'http' && scheme !== 'https')
    malformed = refuse(':scheme must be http or https')
  else if (hosts > 1 || (host !== undefined && host.toLowerCase() !== named!.toLowerCase()))
    malformed = refuse('one Host field, or one that says what :authority does, expected')
  return { method, path: isWhole ? path : guard.path, query, takesTrailers, expecting, malformed }
}

function refuse(detail: string): GatewayError {
  return new GatewayError(GATEWAY_ID, 400, detail)
}
