import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Maybe } from '../../../lib/async/maybe.ts'
import type { Session } from '../../contracts/auth.ts'
import { verifyToken, verifyTokenSync } from './access-token.ts'
import { TokenError } from './token-error.ts'

/** Maximum number of cached tokens, and their maximum total length. */
const CACHE_MAX = 50_000
const CACHE_MAX_CHARACTERS = 32 * 1024 ** 2
/**
 * Length of the cache key, the end of a token's signature. A short key is cheap: maps hash their keys, and each request
 * has a new token string.
 */
const KEY_LENGTH = 32

interface CachedSession {
  readonly token: string
  readonly session: Session
  /** Unix time in milliseconds. */
  readonly untilMs: number
}

export interface SessionsOptions {
  /** Current and recent signing keys, by id. */
  readonly keys: () => ReadonlyMap<string, KeyObject>
  /** Returns true for a revoked token with a valid signature. @default no token is revoked */
  readonly isRevoked?: (session: Session) => boolean
  readonly nowMs?: () => number
}

/** Cache of verified tokens. Invalid tokens are not cached. */
export class Sessions {
  readonly #keys: SessionsOptions['keys']
  readonly #isRevoked: (session: Session) => boolean
  readonly #nowMs: () => number
  readonly #cache = new LRUCache<string, CachedSession>({
    max: CACHE_MAX,
    maxSize: CACHE_MAX_CHARACTERS,
    sizeCalculation: ({ token }) => token.length,
  })
  /** Concurrent verifications of the same token are shared. */
  readonly #verifying = new Map<string, Promise<Session>>()
  /** Time of the last synchronous verification. */
  #lastMs = -1

  constructor({ keys, isRevoked = () => false, nowMs = Date.now }: SessionsOptions) {
    this.#keys = keys
    this.#isRevoked = isRevoked
    this.#nowMs = nowMs
  }

  /** Returns the cached session, or undefined if the token must be verified. */
  getCached(token: string): Session | undefined {
    const cached = this.#cache.get(toKey(token))
    if (cached === undefined || cached.token !== token) return undefined
    return cached.untilMs > this.#nowMs() ? cached.session : undefined
  }

  /** Caches the session of a credential that was verified elsewhere, at most until `untilMs`. */
  add(token: string, session: Session, untilMs: number): Session {
    this.#cache.set(toKey(token), { token, session, untilMs: Math.min(untilMs, session.endsMs) })
    return session
  }

  /**
   * Verifies a token synchronously, and further tokens within the same millisecond in the thread pool: a flood of
   * tokens uses a tenth of the event loop.
   *
   * @throws {TokenError} synchronously or by rejecting.
   */
  verify(token: string): Maybe<Session> {
    const verifying = this.#verifying.get(token)
    if (verifying !== undefined) return verifying
    const nowMs = this.#nowMs()
    if (nowMs === this.#lastMs) return this.#verifyLater(token)
    this.#lastMs = nowMs
    return this.#accept(token, verifyTokenSync(token, this.#keys(), nowMs))
  }

  /** Removes revoked sessions from the cache, or all sessions after the keys have changed. */
  forget(all = false): void {
    if (all) this.#cache.clear()
    else
      for (const [key, { session }] of this.#cache.entries())
        if (this.#isRevoked(session)) this.#cache.delete(key)
  }

  #verifyLater(token: string): Promise<Session> {
    const verifying = this.#verifyInPool(token).finally(() => this.#verifying.delete(token))
    this.#verifying.set(token, verifying)
    return verifying
  }

  async #verifyInPool(token: string): Promise<Session> {
    const keys = this.#keys()
    const session = await verifyToken(token, keys, this.#nowMs())
    // Keys may have changed during the verification.
    return keys === this.#keys() ? this.#accept(token, session) : this.#verifyInPool(token)
  }

  #accept(token: string, session: Session): Session {
    if (this.#isRevoked(session)) throw new TokenError('revoked')
    return this.add(token, session, session.endsMs)
  }
}

function toKey(token: string): string {
  return token.slice(-KEY_LENGTH)
}
