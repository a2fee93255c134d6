import { SKEW_S, TOKEN_LIFE_MAX_S } from '../../../core/auth/token/access-token.ts'
import { type Revocation, Revocations } from '../../../core/auth/token/revocations.ts'
import type { Session } from '../../../core/contracts/auth.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store, StoreWrite } from '../../../domain/store/store.ts'
import { watchRecords } from '../../../domain/store/watch-records.ts'
import {
  parseRevocation,
  REVOKED_PREFIX,
  TABLE,
  toRevokedAccountKey,
  toRevokedTokenKey,
} from '../records.ts'

export interface RevokedOptions {
  readonly store: Store
  /** Unix time. */
  readonly nowMs: () => number
  readonly onWarning: (message: string) => void
}

/** Which tokens count for nothing any more, of all servers of a store. */
export interface Revoked {
  readonly isRevoked: (session: Session) => boolean
  readonly list: () => readonly Revocation[]
  /** Gets each that is new. Returns what ends that. */
  readonly onRevoked: (listener: (news: readonly Revocation[]) => void) => () => void
  readonly close: () => void
}

/** No token that is revoked lives longer. */
const LIFE_MS: number = (TOKEN_LIFE_MAX_S + 2 * SKEW_S) * 1000

/**
 * Reads what was revoked, and goes on to.
 *
 * @throws {GatewayError} 503 when the store cannot be reached.
 */
export async function openRevoked({ store, nowMs, onWarning }: RevokedOptions): Promise<Revoked> {
  const revocations = new Revocations(nowMs)
  const listeners = new Set<(news: readonly Revocation[]) => void>()
  const watched = await watchRecords({
    store,
    table: TABLE,
    prefix: REVOKED_PREFIX,
    onError: (error) => onWarning(`what was revoked cannot be read: ${String(error)}`),
    onRecords(records) {
      // What is gone from the store has ended.
      const news = [...records.values()]
        .filter((record) => record !== undefined)
        .map(parseRevocation)
        .filter((revocation) => revocations.add(revocation))
      if (news.length > 0) for (const listener of listeners) listener(news)
    },
  })
  return {
    isRevoked: (session) => revocations.isRevoked(session),
    list: () => revocations.list(),
    onRevoked(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: watched.close,
  }
}

/** Revokes a token that is not taken from `endsMs` on. */
export function revokeToken(id: string, endsMs: number): StoreWrite {
  const ends = endsMs + SKEW_S * 1000
  const revocation = { id, namespace: '', account: '', before: 0, ends }
  return toWrite(toRevokedTokenKey(id), revocation)
}

/** Revokes the tokens of a session: `id` is what theirs begin with. */
export function revokeSession(id: string, nowMs: number): StoreWrite {
  return revokeToken(id, nowMs + (TOKEN_LIFE_MAX_S + SKEW_S) * 1000)
}

/** Revokes the tokens that were issued to an account before. */
export function revokeAccount(
  namespace: string,
  account: string,
  before: number,
  nowMs: number,
): StoreWrite {
  const revocation = { id: '', namespace, account, before, ends: nowMs + LIFE_MS }
  return toWrite(toRevokedAccountKey(namespace, account), revocation)
}

/** Of tokens, which say when they were issued in seconds: the first moment that is none of this second. */
export function nextSecond(nowMs: number): number {
  return (Math.floor(nowMs / 1000) + 1) * 1000
}

function toWrite(key: string, revocation: Revocation): StoreWrite {
  return { table: TABLE, key, value: encodeRecord(revocation), expiresMs: revocation.ends }
}
