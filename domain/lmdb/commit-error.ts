import { settlesWithin } from '../../lib/async/timeout.ts'
import { IO_ERROR } from './disk-space.ts'

// The reason arrives with the failure or never, because lmdb-js attaches it to the next commit.
const REASON_MS = 1000

/**
 * Finds the cause of a failed transaction. The cause is a separate promise: if unhandled, it would
 * end the process (kriszyp/lmdb-js#368), and if awaited without a timeout, it could block the store
 * forever.
 */
export async function findReason(error: unknown): Promise<unknown> {
  const { commitError } = error as { readonly commitError?: Promise<never> }
  if (commitError === undefined) return error
  const reason = commitError.catch((cause: unknown) => cause)
  if (await settlesWithin(reason, REASON_MS)) return reason
  return Object.assign(error as Error, { code: IO_ERROR })
}
