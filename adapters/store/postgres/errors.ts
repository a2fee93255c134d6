import { GatewayError } from '../../../core/errors.ts'
import { storeFull, storeUnavailable } from '../../../domain/store/errors.ts'

/** An error from the server with its SQLSTATE (PostgreSQL documentation: appendix A). */
export interface SqlError extends Error {
  readonly code: string
}

/** disk_full */
const FULL = '53100'
/** serialization_failure and deadlock_detected. A retry may succeed. */
const RETRYABLE: ReadonlySet<string> = new Set(['40001', '40P01'])
/** Error classes that concern the state of the server or access to it rather than the statement. */
const UNAVAILABLE = new Set([
  '08', // connection exception
  '25', // invalid transaction state: read-only, or idle for too long
  '28', // invalid authorization
  '3D', // no such database
  '40', // transaction rollback
  '53', // insufficient resources
  '57', // operator intervention: shutdown, start-up, statement timeout
  '58', // system error
])

export function isSqlError(error: unknown): error is SqlError {
  if (!(error instanceof Error) || !('severity' in error) || !('code' in error)) return false
  return typeof error.code === 'string' && error.code.length === 5
}

/** Returns whether the server rolled back a transaction because of another one. */
export function isRetryable(error: unknown): boolean {
  return isSqlError(error) && RETRYABLE.has(error.code)
}

/**
 * Converts errors as specified by the store contract: 507 for a full disk, 503 for an outage.
 * Programming errors are returned unchanged.
 */
export function toStoreError(error: unknown): unknown {
  if (error instanceof GatewayError) return error
  if (isSqlError(error)) {
    if (error.code === FULL) return storeFull(error)
    return UNAVAILABLE.has(error.code.slice(0, 2)) ? storeUnavailable(error) : error
  }
  if (error instanceof TypeError || error instanceof RangeError) return error
  // Socket, TLS and library errors have no common class.
  return storeUnavailable(error)
}
