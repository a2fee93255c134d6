import { GatewayError } from '../errors.ts'
import type { HeaderList } from '../http/headers.ts'

const SECONDS = /^\d{1,9}(?:\.\d{1,3})?$/
/** gRPC over HTTP/2, "Timeout": at most 8 digits and a unit. */
const GRPC = /^(\d{1,8})([HMSmun])$/
const GRPC_UNITS_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
}

/** The Connect protocol, "Timeout": milliseconds, at most 10 digits. */
const CONNECT = /^\d{1,10}$/

/**
 * Reads the timeout requested by a client in milliseconds, capped at `maxMs`: `Timeout` in seconds, otherwise
 * {@link readWireTimeout}; 0 if none.
 *
 * @throws {GatewayError} 400 if a header is malformed.
 */
export function readTimeout(headers: HeaderList, maxMs: number, id: string): number {
  const seconds = headers.get('timeout')
  if (seconds !== undefined) {
    if (!SECONDS.test(seconds))
      throw malformed(id, 'Timeout must be seconds up to 999999999, such as 2 or 0.5', seconds)
    return limit(Number(seconds) * 1000, maxMs)
  }
  return readWireTimeout(headers, maxMs, id)
}

/**
 * Reads the timeout requested by a gRPC or Connect client in milliseconds, capped at `maxMs`: `grpc-timeout` (`500m`,
 * `10S`) or `connect-timeout-ms`; 0 if none.
 *
 * @throws {GatewayError} 400 if a header is malformed.
 */
export function readWireTimeout(headers: HeaderList, maxMs: number, id: string): number {
  const grpc = headers.get('grpc-timeout')
  if (grpc === undefined) {
    const connect = headers.get('connect-timeout-ms')
    if (connect === undefined) return 0
    if (!CONNECT.test(connect))
      throw malformed(id, 'connect-timeout-ms must be at most 10 digits', connect)
    return limit(Number(connect), maxMs)
  }
  const match = GRPC.exec(grpc)
  if (match === null)
    throw malformed(
      id,
      'grpc-timeout must be at most 8 digits and a unit such as 500m or 10S',
      grpc,
    )
  return limit(Number(match[1]) * GRPC_UNITS_MS[match[2]!]!, maxMs)
}

/** Formats `grpc-timeout` with at most 8 digits. */
export function formatGrpcTimeout(ms: number): string {
  return ms < 1e8 ? `${Math.ceil(ms)}m` : `${Math.ceil(ms / 1000)}S`
}

function limit(ms: number, maxMs: number): number {
  return Math.max(1, Math.min(Math.round(ms), maxMs))
}

function malformed(id: string, expected: string, got: string): GatewayError {
  return new GatewayError(id, 400, `${expected}, got ${JSON.stringify(got.slice(0, 64))}`)
}
