import { formatError, type GatewayError } from '../errors.ts'
import { appendParsed, HeaderList } from '../http/headers.ts'
import { type ErrorReply, toWireError } from '../rpc/grpc/error-reply.ts'

/**
 * Creates an error response in the client's format: gRPC, gRPC-Web, Connect, problem details (RFC 9457) or JSON.
 * `rpcStatus` is -1 if the client does not use one of the first three.
 *
 * @param request headers of the request.
 * @param isHttp2 whether the client uses HTTP/2.
 */
export function toErrorResponse(
  error: GatewayError,
  request: HeaderList,
  isHttp2: boolean,
  extraHeaders: readonly string[] | undefined = error.headers,
): ErrorReply {
  const wireError = toWireError(error, request, isHttp2)
  if (wireError !== undefined) return wireError
  const { type, body } = formatError(error, request.get('accept') ?? '')
  const headers = new HeaderList(extraHeaders)
  headers.append('content-type', type)
  // RFC 9111 §4.2.2 lets caches store some errors, which are only valid for one caller at one moment.
  if (!headers.has('cache-control')) headers.append('cache-control', 'no-store')
  // Required by RFC 9110 §15.5.22. The gateway has no other protocol to upgrade to.
  if (error.code === 426) appendParsed(headers, 'upgrade', 'websocket')
  return { status: error.code, headers, body, rpcStatus: -1 }
}
