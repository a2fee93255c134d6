import { GatewayError } from '../errors.ts'

const GRPC = /^application\/grpc(?:[+;\s]|$)/i
const UNKNOWN = 2
/** gRPC status codes by HTTP status (google.rpc.Code), for those that have one of their own. */
const STATUSES: ReadonlyMap<number, number> = new Map([
  [400, 3],
  [401, 16],
  [403, 7],
  [404, 5],
  [408, 4],
  [409, 10],
  [412, 9],
  [413, 8],
  [415, 3],
  [429, 8],
  [499, 1],
  [500, 13],
  [501, 12],
  [502, 14],
  [503, 14],
  [504, 4],
])

/** The error with `grpc-status` and `grpc-message` in its reply, where the request's content type is one of gRPC (reference: rpc). */
export function tellGrpc(error: GatewayError, contentType: string | undefined): GatewayError {
  if (contentType === undefined || !GRPC.test(contentType)) return error
  const { id, code, message, cause, headers = [] } = error
  const status = STATUSES.get(code) ?? UNKNOWN
  const fields = ['grpc-status', `${status}`, 'grpc-message', encodeMessage(message)]
  return new GatewayError(id, code, message, { cause, headers: [...headers, ...fields] })
}

/** Percent-encoded, but for what is visible in ASCII and the blank (gRPC over HTTP/2, Status-Message). */
function encodeMessage(message: string): string {
  // Through bytes, where halves of characters, which cannot be encoded, become U+FFFD.
  return `${Buffer.from(message)}`.replace(/[^ -$&-~]+/g, encodeURIComponent)
}
