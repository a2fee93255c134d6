import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Maybe } from '../../../lib/async/maybe.ts'
import type { Session } from '../../contracts/auth.ts'
import { verifyToken, verifyTokenSync } from './access-token.ts'
import { TokenError } from './token-error.ts'

/** Tokens remembered, and the characters they have in all. */
const REMEMBERED_MAX = 50_000
const REMEMBERED_MAX_CHARACTERS = 32 * 1024 ** 2
/** Characters at the end of a token, of its signature, by which it is found: texts come anew with each request, and a map reads all of them. */
const KEY_LENGTH = 32

interface Known {
  readonly token: string
  readonly session: Session
}

export interface SessionsOptions {
  /** Those that sign now, and those that lately did, by their ids. */
  readonly keys: () => ReadonlyMap<string, KeyObject>
  /** Whether a genuine token is good for nothing any more. @default none is */
  readonly isRevoked?: (session: Session) => boolean
  /** Unix time. @default Date.now */
  readonly nowMs?: () => number
}

/** Tokens that were verified, so that each is verified once; those that were found wrong are not remembered. */
export class Sessions {
  readonly #keys: SessionsOptions['keys']
  readonly #isRevoked: (session: Session) => boolean
  readonly #nowMs: () => number
  readonly #known = new LRUCache<string, Known>({
    max: REMEMBERED_MAX,
    maxSize: REMEMBERED_MAX_CHARACTERS,
    sizeCalculation: ({ token }) => token.length,
  })
  /** Of tokens that many calls show before they are known, each is verified once. */
  readonly #verifying = new Map<string, Promise<Session>>()
  /** When a token was last verified at once. */
  #lastMs = -1

  constructor({ keys, isRevoked = () => false, nowMs = Date.now }: SessionsOptions) {
    this.#keys = keys
    this.#isRevoked = isRevoked
    this.#nowMs = nowMs
  }

  /** Undefined: it has to be verified. */
  recall(token: string): Session | undefined {
    const known = this.#known.get(toKey(token))
    if (known === undefined || known.token !== token) return undefined
    return known.session.endsMs > this.#nowMs() ? known.session : undefined
  }

  /**
   * At once, but for the second and further tokens of a millisecond, which the thread pool verifies: a flood of them takes a tenth of the event loop.
   *
   * @throws {TokenError} also by rejecting.
   */
  verify(token: string): Maybe<Session> {
    const verifying = this.#verifying.get(token)
    if (verifying !== undefined) return verifying
    const nowMs = this.#nowMs()
    if (nowMs === this.#lastMs) return this.#verifyLater(token)
    this.#lastMs = nowMs
    return this.#take(token, verifyTokenSync(token, this.#keys(), nowMs))
  }

  /** Forgets what has been revoked since, and with `all` whatever it knows: keys have changed. */
  forget(all = false): void {
    if (all) this.#known.clear()
    else
      for (const [key, { session }] of this.#known.entries())
        if (this.#isRevoked(session)) this.#known.delete(key)
  }

  #verifyLater(token: string): Promise<Session> {
    const verifying = this.#verifyInPool(token).finally(() => this.#verifying.delete(token))
    this.#verifying.set(token, verifying)
    return verifying
  }

  async #verifyInPool(token: string): Promise<Session> {
    const keys = this.#keys()
    const session = await verifyToken(token, keys, this.#nowMs())
    // Judged by what was known when it began, which may have changed since.
    return keys === this.#keys() ? this.#take(token, session) : this.#verifyInPool(token)
  }

  #take(token: string, session: Session): Session {
    if (this.#isRevoked(session)) throw new TokenError('revoked')
    this.#known.set(toKey(token), { token, session })
    return session
  }
}

function toKey(token: string): string {
  return token.slice(-KEY_LENGTH)
}
