import { LRUCache } from 'lru-cache'
import { tooManyRequests } from '../../../sdk/errors.ts'

interface Owner {
  readonly namespace: string
  readonly account: string
}

/**
 * Counts an access token that is revoked individually: every gateway and service must cache the revocation until the token
 * expires.
 *
 * @throws {GatewayError} 429 with the alternative, after too many of an account.
 */
export type CountRevocation = (owner: Owner, errorId: string) => void

const WINDOW_MS = 3600_000
/** Limit per account and hour: one per second. */
const MAX_PER_HOUR = 3600
const REMEMBERED_MAX = 100_000

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
    if (window.count === MAX_PER_HOUR)
      throw tooManyRequests(
        errorId,
        `${MAX_PER_HOUR} access tokens of ${account} were revoked within an hour: revoke the refresh token of its login, or all of the account by request.id`,
        { headers: ['retry-after', String(Math.ceil((window.endsMs - now) / 1000))] },
      )
    window.count++
  }
}
