import { GatewayError } from '../../../core/errors.ts'
import { storeFull, storeUnavailable } from '../../../domain/store/errors.ts'

/** An error the server told, with its SQLSTATE (PostgreSQL documentation: appendix A). */
export interface SqlError extends Error {
  readonly code: string
}

/** disk_full */
const FULL = '53100'
/** serialization_failure and deadlock_detected: the same again may succeed. */
const PASSING: ReadonlySet<string> = new Set(['40001', '40P01'])
/** Classes of errors that are of the server's state, or of who may come, not of what it was asked. */
const AWAY = new Set([
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

/** Whether the server undid a transaction for the sake of another: nothing is wrong with it. */
export function isPassing(error: unknown): boolean {
  return isSqlError(error) && PASSING.has(error.code)
}

/** As the contract of stores has it: full is 507, away 503; what is a mistake of this program stays as it is. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof GatewayError) return error
  if (isSqlError(error)) {
    if (error.code === FULL) return storeFull(error)
    return AWAY.has(error.code.slice(0, 2)) ? storeUnavailable(error) : error
  }
  if (error instanceof TypeError || error instanceof RangeError) return error
  // Of sockets, of TLS, or of the library, which has no class of its own for those.
  return storeUnavailable(error)
}
