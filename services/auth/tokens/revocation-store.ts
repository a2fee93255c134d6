import { SKEW_S, TOKEN_LIFE_MAX_S } from '../../../core/auth/token/access-token.ts'
import { type Revocation, Revocations } from '../../../core/auth/token/revocations.ts'
import type { Session } from '../../../core/contracts/auth.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store, StoreWrite } from '../../../domain/store/store.ts'
import { watchRecords } from '../../../domain/store/watch-records.ts'
import {
  AUTH_TABLE,
  parseRevocation,
  REVOKED_PREFIX,
  toRevokedAccountKey,
  toRevokedTokenKey,
} from '../records.ts'

export interface RevokedOptions {
  readonly store: Store
  /** Unix time in milliseconds. */
  readonly nowMs: () => number
  readonly onWarning: (message: string) => void
}

/** Revoked tokens of all servers that share a store. */
export interface Revoked {
  readonly isRevoked: (session: Session) => boolean
  readonly list: () => readonly Revocation[]
  /** Calls `listener` with new revocations until the returned function is called. */
  readonly onRevoked: (listener: (added: readonly Revocation[]) => void) => () => void
  readonly close: () => void
}

/** Maximum lifetime of a token, for which a revocation is stored. */
const LIFE_MS: number = (TOKEN_LIFE_MAX_S + 2 * SKEW_S) * 1000

/**
 * Reads revocations and follows changes.
 *
 * @throws {GatewayError} 503 if the store is unavailable.
 */
export async function openRevoked({ store, nowMs, onWarning }: RevokedOptions): Promise<Revoked> {
  const revocations = new Revocations(nowMs)
  const listeners = new Set<(added: readonly Revocation[]) => void>()
  const watched = await watchRecords({
    store,
    table: AUTH_TABLE,
    prefix: REVOKED_PREFIX,
    onError: (error) => onWarning(`reading revocations failed: ${String(error)}`),
    onRecords(records) {
      // Records that disappear have expired.
      const added = [...records.values()]
        .filter((record) => record !== undefined)
        .map(parseRevocation)
        .filter((revocation) => revocations.add(revocation))
      if (added.length > 0) for (const listener of listeners) listener(added)
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

/** Revokes a token that expires at `endsMs`. */
export function revokeToken(id: string, endsMs: number): StoreWrite {
  const expiryMs = endsMs + SKEW_S * 1000
  const revocation = { id, namespace: '', account: '', before: 0, ends: expiryMs }
  return toWrite(toRevokedTokenKey(id), revocation)
}

/** Revokes the tokens of a session. `id` is the prefix of their ids. */
export function revokeSession(id: string, nowMs: number): StoreWrite {
  return revokeToken(id, nowMs + (TOKEN_LIFE_MAX_S + SKEW_S) * 1000)
}

/** Revokes tokens issued to an account before a time. */
export function revokeAccount(
  namespace: string,
  account: string,
  before: number,
  nowMs: number,
): StoreWrite {
  const revocation = { id: '', namespace, account, before, ends: nowMs + LIFE_MS }
  return toWrite(toRevokedAccountKey(namespace, account), revocation)
}

/** Rounds up to the next second, because tokens contain their time of issue in seconds. */
export function nextSecond(nowMs: number): number {
  return (Math.floor(nowMs / 1000) + 1) * 1000
}

function toWrite(key: string, revocation: Revocation): StoreWrite {
  return { table: AUTH_TABLE, key, value: encodeRecord(revocation), expiresMs: revocation.ends }
}
