import type { GatewayError } from '../../errors.ts'
import { appendParsed, HeaderList } from '../../http/headers.ts'
import { toErrorTrailers } from './status-codes.ts'
import { findWire, formatEnd, isTrailing, toConnectError } from './wire-format.ts'

export interface ErrorReply {
  readonly status: number
  readonly headers: HeaderList
  readonly body: string | Uint8Array
  /** gRPC status code. */
  readonly rpcStatus: number
}

const NOTHING = new Uint8Array(0)

/**
 * Formats an error for gRPC, gRPC-Web and Connect clients. Returns undefined for other requests.
 *
 * gRPC clients receive the status in the headers of a response without a body (gRPC over HTTP/2, Trailers-Only).
 * gRPC-Web clients and Connect streams receive it in the last frame, where scripts of other origins can read it. In all
 * these cases, the HTTP status is 200. Unary Connect calls use the HTTP status.
 *
 * @param request headers of the request.
 * @param takesTrailers whether the client uses HTTP/2.
 */
export function toWireError(
  error: GatewayError,
  request: HeaderList,
  takesTrailers: boolean,
): ErrorReply | undefined {
  const wire = findWire(request.get('content-type'), takesTrailers)
  if (wire === undefined && !request.has('connect-protocol-version')) return undefined
  const trailers = toErrorTrailers(error)
  const rpcStatus = Number(trailers.get('grpc-status'))
  if (wire === undefined) {
    const headers = new HeaderList(error.headers)
    headers.set('content-type', 'application/json')
    if (!headers.has('cache-control')) headers.append('cache-control', 'no-store')
    const body = JSON.stringify(toConnectError(trailers))
    return { status: error.code, headers, body, rpcStatus }
  }
  if (isTrailing(wire)) {
    // The block is not shared with other requests.
    trailers.set('content-type', wire.contentType)
    return { status: 200, headers: trailers, body: NOTHING, rpcStatus }
  }
  const headers = new HeaderList()
  appendParsed(headers, 'content-type', wire.contentType)
  appendParsed(headers, 'cache-control', 'no-store')
  return { status: 200, headers, body: formatEnd(wire, trailers), rpcStatus }
}
