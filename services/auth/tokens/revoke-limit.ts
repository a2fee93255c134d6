import { LRUCache } from 'lru-cache'
import { tooManyRequests } from '../../../sdk/errors.ts'

/** Whose token is revoked. */
interface Owner {
  readonly namespace: string
  readonly account: string
}

/**
 * Counts an access token that is revoked alone: every gateway and service has to remember it until it has ended.
 *
 * @throws {GatewayError} 429 saying what to do instead, after too many of an account.
 */
export type CountRevocation = (owner: Owner, errorId: string) => void

const WINDOW_MS = 3600_000
/** Of an account in an hour: one a second. */
const OF_ACCOUNT = 3600
const REMEMBERED_MAX = 100_000

/** @param nowMs unix time. */
export function createRevokeLimit(nowMs: () => number): CountRevocation {
  const windows = new LRUCache<string, { count: number; readonly endsMs: number }>({
    max: REMEMBERED_MAX,
  })
  return ({ namespace, account }, errorId) => {
    const name = `${namespace}/${account}`
    const now = nowMs()
    let window = windows.get(name)
    if (window === undefined || window.endsMs <= now) {
      window = { count: 0, endsMs: now + WINDOW_MS }
      windows.set(name, window)
    }
    if (window.count === OF_ACCOUNT)
      throw tooManyRequests(
        errorId,
        `${OF_ACCOUNT} access tokens of ${account} were revoked within an hour: revoke the refresh token of its login, or all of the account by request.id`,
        { headers: ['retry-after', String(Math.ceil((window.endsMs - now) / 1000))] },
      )
    window.count++
  }
}
