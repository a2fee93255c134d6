import { LRUCache } from 'lru-cache'
import { tooManyRequests } from '../../../sdk/errors.ts'

interface Owner {
  readonly namespace: string
  readonly account: string
}

/**
 * Counts access tokens and API keys that are revoked individually, because every gateway and service must cache
 * each revocation until the token expires.
 *
 * @throws {GatewayError} 429 with the alternative, after too many revocations for an account or a
 * namespace.
 */
export type CountRevocation = (owner: Owner, errorId: string) => void

const WINDOW_MS = 3600_000
/** Limits per hour for an account (one per second) and for all accounts of a namespace. */
const MAX_OF_ACCOUNT = 3600
const MAX_OF_NAMESPACE = 36_000
const WINDOWS_MAX = 100_000

interface Window {
  count: number
  readonly endsMs: number
}

/** Texts of the error. */
export interface RevokedObjects {
  readonly plural: string
  /** Past participle of the limited action. */
  readonly action: string
  readonly remedy: string
}

const TOKENS: RevokedObjects = {
  plural: 'access tokens',
  action: 'revoked',
  remedy: 'revoke the refresh token, or all tokens of the account with request.id',
}

/** @param objects revoked objects. @default access tokens */
export function createRevokeLimit(
  nowMs: () => number,
  { plural, action, remedy }: RevokedObjects = TOKENS,
): CountRevocation {
  const windows = new LRUCache<string, Window>({ max: WINDOWS_MAX })

  function open(name: string, now: number): Window {
    const existing = windows.get(name)
    if (existing !== undefined && existing.endsMs > now) return existing
    const window = { count: 0, endsMs: now + WINDOW_MS }
    windows.set(name, window)
    return window
  }

  return ({ namespace, account }, errorId) => {
    const now = nowMs()
    const limits = [
      { window: open(`${namespace}/${account}`, now), max: MAX_OF_ACCOUNT, owner: account },
      { window: open(namespace, now), max: MAX_OF_NAMESPACE, owner: `namespace ${namespace}` },
    ]
    const reached = limits.find(({ window, max }) => window.count === max)
    if (reached !== undefined)
      throw tooManyRequests(
        errorId,
        `${reached.max} ${plural} of ${reached.owner} were ${action} within an hour; ${remedy}`,
        { headers: ['retry-after', String(Math.ceil((reached.window.endsMs - now) / 1000))] },
      )
    for (const { window } of limits) window.count++
  }
}
