import { settlesWithin } from '../../lib/async/timeout.ts'
import { IO_ERROR } from './disk-space.ts'

/** The reason comes with the failure, or never: lmdb-js keeps it for whichever commit it hears of next. */
const REASON_MS = 1000

/**
 * Why a transaction failed. It is a promise of its own: unhandled, it would end the process (kriszyp/lmdb-js#368), and waited for
 * without end, the store would answer nobody any more.
 */
export async function findReason(error: unknown): Promise<unknown> {
  const { commitError } = error as { readonly commitError?: Promise<never> }
  if (commitError === undefined) return error
  const reason = commitError.catch((told: unknown) => told)
  if (await settlesWithin(reason, REASON_MS)) return reason
  return Object.assign(error as Error, { code: IO_ERROR })
}
