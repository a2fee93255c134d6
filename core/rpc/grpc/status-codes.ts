import type { GatewayError } from '../../errors.ts'
import { HeaderList } from '../../http/headers.ts'

/** Status codes of gRPC by number (google.rpc.Code), as Connect writes them. */
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
/** Of a fault. */
const INTERNAL = 13
/** Of a call that certainly was not served, or whose service is away. */
export const UNAVAILABLE = 14

/** By HTTP status, for those that have one of their own. */
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

/** The gRPC status of an error with this HTTP status (reference: 11.2). */
export function toGrpcStatus(code: number): number {
  return BY_HTTP.get(code) ?? UNKNOWN
}

/** First digit of the HTTP status by that of gRPC: 5 where the server is at fault (OpenTelemetry: gRPC spans). */
const CLASSES: readonly number[] = [2, 4, 5, 4, 5, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 4]

/** First digit of the HTTP status that says the same as a gRPC status, which may be any number. */
export function toHttpClass(status: number): number {
  return CLASSES[status] ?? 5
}

/** What Connect calls a gRPC status. */
export function toConnectCode(status: number): string {
  return NAMES[status] ?? 'unknown'
}

/** Percent-encoded, but for what is visible in ASCII and the blank (gRPC over HTTP/2, Status-Message). */
export function encodeMessage(message: string): string {
  // Through bytes, where halves of characters, which cannot be encoded, become U+FFFD.
  return `${Buffer.from(message)}`.replace(/[^ -$&-~]+/g, encodeURIComponent)
}

/** The way back; a text that is no encoding stays as it is. */
export function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The fields that end a call with this status (gRPC over HTTP/2, Trailers). */
export function toTrailers(status: number, message = ''): HeaderList {
  const trailers = new HeaderList()
  trailers.append('grpc-status', `${status}`)
  if (message !== '') trailers.append('grpc-message', encodeMessage(message))
  return trailers
}

/** The fields that end a call with this error, those of the error among them. */
export function toErrorTrailers({ code, message, headers = [] }: GatewayError): HeaderList {
  const trailers = toTrailers(toGrpcStatus(code), message)
  for (let i = 0; i + 1 < headers.length; i += 2) trailers.append(headers[i]!, headers[i + 1]!)
  return trailers
}
