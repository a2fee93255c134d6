import type { GatewayError } from '../../errors.ts'
import { HeaderList } from '../../http/headers.ts'

/** gRPC status names by code (google.rpc.Code), spelled as in Connect. */
const NAMES: readonly string[] = [
  'ok',
  'canceled',
  'unknown',
  'invalid_argument',
  'deadline_exceeded',
  'not_found',
  'already_exists',
  'permission_denied',
  'resource_exhausted',
  'failed_precondition',
  'aborted',
  'out_of_range',
  'unimplemented',
  'internal',
  'unavailable',
  'data_loss',
  'unauthenticated',
]
const UNKNOWN = 2
const INTERNAL = 13
/** UNAVAILABLE: the call is known to be unprocessed, or the service is unavailable. */
export const UNAVAILABLE = 14

/** gRPC status by HTTP status, if there is an equivalent. */
const BY_HTTP: ReadonlyMap<number, number> = new Map([
  [400, 3],
  [401, 16],
  [403, 7],
  [404, 5],
  [408, 4],
  [409, 6],
  [412, 9],
  [413, 8],
  [415, 3],
  [429, 8],
  [499, 1],
  [500, INTERNAL],
  [501, 12],
  [502, UNAVAILABLE],
  [503, UNAVAILABLE],
  [504, 4],
])

/** Returns the gRPC status for an error with this HTTP status (reference: 11.2). */
export function toGrpcStatus(code: number): number {
  return BY_HTTP.get(code) ?? UNKNOWN
}

/** First digit of the HTTP status by gRPC status; 5 for server errors (OpenTelemetry: gRPC spans). */
const CLASSES: readonly number[] = [2, 4, 5, 4, 5, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 4]

/** Returns the first digit of the HTTP status for a gRPC status, which may be any number. */
export function toHttpClass(status: number): number {
  return CLASSES[status] ?? 5
}

/** Returns the Connect code for a gRPC status. */
export function toConnectCode(status: number): string {
  return NAMES[status] ?? 'unknown'
}

/** Percent-encodes everything except visible ASCII and spaces (gRPC over HTTP/2, Status-Message). */
export function encodeMessage(message: string): string {
  // In a Buffer, lone surrogates, which cannot be encoded, become U+FFFD.
  return `${Buffer.from(message)}`.replace(/[^ -$&-~]+/g, encodeURIComponent)
}

/** Decodes the output of {@link encodeMessage}. Other text is returned unchanged. */
export function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Builds the trailers for a status (gRPC over HTTP/2, Trailers). */
export function toTrailers(status: number, message = ''): HeaderList {
  const trailers = new HeaderList()
  trailers.append('grpc-status', `${status}`)
  if (message !== '') trailers.append('grpc-message', encodeMessage(message))
  return trailers
}

/** Builds the trailers for an error, including its headers. */
export function toErrorTrailers({ code, message, headers = [] }: GatewayError): HeaderList {
  const trailers = toTrailers(toGrpcStatus(code), message)
  for (let i = 0; i + 1 < headers.length; i += 2) trailers.append(headers[i]!, headers[i + 1]!)
  return trailers
}
