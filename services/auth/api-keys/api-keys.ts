import { timingSafeEqual } from 'node:crypto'
import {
  API_KEY_CACHE_MS,
  createApiKey,
  createApiKeyId,
  hashApiKey,
} from '../../../core/auth/token/api-key.ts'
import type { ApiKeyLimits, PresentedApiKey, Session } from '../../../core/contracts/auth.ts'
import type { StoreRecord } from '../../../core/contracts/store.ts'
import { commitIf } from '../../../domain/store/commit-if.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store, StoreWrite } from '../../../domain/store/store.ts'
import { badRequest, tooManyRequests, unavailable } from '../../../sdk/errors.ts'
import type { Accounts } from '../accounts/accounts.ts'
import {
  type AccountRecord,
  type ApiKeyRecord,
  AUTH_TABLE,
  parseApiKeyOwner,
  parseApiKeyRecord,
  toApiKeyOwnerKey,
  toApiKeysPrefix,
} from '../records.ts'
import { revokeToken } from '../tokens/revocation-store.ts'
import { createRevokeLimit } from '../tokens/revoke-limit.ts'
import { deleteApiKeys } from './deletions.ts'

export interface NewApiKey {
  readonly name: string
  readonly scopes: readonly string[]
  /** Lifetime in milliseconds; 0 for unlimited. */
  readonly lifeMs: number
  readonly limits: ApiKeyLimits
}

/** A key with its secret, which is only returned once. */
export interface CreatedApiKey {
  readonly record: ApiKeyRecord
  readonly key: string
}

export interface ApiKeysQuery {
  /** @default all accounts of the namespace */
  readonly account?: string
  /** Cursor from the previous page. @default the first page */
  readonly after?: string
  /** Page size. */
  readonly limit: number
}

export interface ApiKeysPage {
  readonly keys: readonly ApiKeyRecord[]
  /** Cursor of the next page. */
  readonly next: string | undefined
}

/** API keys of all accounts. Errors contain the id passed by the caller. */
export interface ApiKeys {
  /**
   * Creates a key of an account.
   *
   * @throws {GatewayError} 400 for a scope that the account lacks, 429 if the account has too many keys.
   */
  readonly create: (
    owner: AccountRecord,
    input: NewApiKey,
    errorId: string,
  ) => Promise<CreatedApiKey>
  /** Lists keys by account and id, paginated. */
  readonly list: (
    namespace: string,
    query: ApiKeysQuery,
    signal?: AbortSignal,
  ) => Promise<ApiKeysPage>
  /** Finds a key of a namespace. */
  readonly find: (namespace: string, id: string) => Promise<ApiKeyRecord | undefined>
  /**
   * Replaces the secret. The previous secret stays valid for `graceMs`, an earlier one becomes invalid.
   *
   * @returns undefined if the key was deleted concurrently.
   */
  readonly rotate: (
    key: ApiKeyRecord,
    graceMs: number,
    errorId: string,
  ) => Promise<CreatedApiKey | undefined>
  /** Deletes a key. @returns whether it existed. */
  readonly delete: (key: ApiKeyRecord) => Promise<boolean>
  /** Returns the session of a key, or undefined if it is unknown, expired or deleted. Records its use. */
  readonly verify: (key: PresentedApiKey) => Promise<Session | undefined>
}

export interface ApiKeysOptions {
  readonly store: Store
  readonly accounts: Pick<Accounts, 'find'>
  /** Unix time in milliseconds. */
  readonly nowMs: () => number
}

/** Maximum number of keys of an account. */
export const API_KEYS_MAX = 100
const ID = /^[0-9a-f]{16}$/
/** Resolution of the time of the last use. */
const USED_MS = 3600_000
/** Expired keys are listed for this time, then deleted. */
const RETAINED_MS = 30 * 24 * 3600_000
/** Maximum number of attempts under contention. */
const ATTEMPTS_MAX = 10
const REVOKED = { plural: 'API keys', action: 'created or rotated', remedy: 'try again later' }

export function createApiKeys({ store, accounts, nowMs }: ApiKeysOptions): ApiKeys {
  const countRevocation = createRevokeLimit(nowMs, REVOKED)

  /** Reads the record of a key. `owner` is undefined if the key is unknown. */
  async function read(id: string): Promise<StoreRecord | undefined> {
    if (!ID.test(id)) return undefined
    const owner = await store.read(AUTH_TABLE, toApiKeyOwnerKey(id))
    if (owner === undefined) return undefined
    const { namespace, account } = parseApiKeyOwner(owner)
    return store.read(AUTH_TABLE, `${toApiKeysPrefix(namespace, account)}${id}`)
  }

  async function count(namespace: string, account: string): Promise<number> {
    const prefix = toApiKeysPrefix(namespace, account)
    const query = { prefix, keysOnly: true, limit: API_KEYS_MAX }
    return (await store.list(AUTH_TABLE, query)).records.length
  }

  /** Records a use. A failure has no effect on the caller, and the next use tries again. */
  async function recordUse(record: StoreRecord, key: ApiKeyRecord): Promise<void> {
    if (nowMs() - key.usedMs < USED_MS) return
    const write = { ...toWrite({ ...key, usedMs: nowMs() }), ifVersion: record.version }
    await store.commit([{ ...write, mayUseReserve: false }]).catch(() => {})
  }

  return {
    async create(owner, { name, scopes, lifeMs, limits }, errorId) {
      const missing = scopes.findIndex((scope) => !owner.scopes.includes(scope))
      if (missing >= 0)
        throw badRequest(
          errorId,
          `request.scopes[${missing}] must be a scope of the account ${owner.id}, got ${JSON.stringify(scopes[missing])}`,
        )
      const { issuer: namespace, id: account } = owner
      if ((await count(namespace, account)) >= API_KEYS_MAX)
        throw tooManyRequests(
          errorId,
          `the account ${account} has ${API_KEYS_MAX} API keys; delete a key first`,
        )
      // Counted here rather than for the deletion, which must always be possible.
      countRevocation({ namespace, account }, errorId)
      const id = createApiKeyId()
      const key = createApiKey(id)
      const createdMs = nowMs()
      const record: ApiKeyRecord = {
        ...{ id, namespace, account, name, limits, createdMs },
        scopes: [...new Set(scopes)],
        hash: hashApiKey(key),
        serial: 1,
        expiresMs: lifeMs === 0 ? 0 : createdMs + lifeMs,
        usedMs: 0,
      }
      await store.commit([
        { ...toWrite(record), ifVersion: 0, mayUseReserve: false },
        { ...toOwnerWrite(record), ifVersion: 0, mayUseReserve: false },
      ])
      return { record, key }
    },

    async list(namespace, { account, after, limit }, signal) {
      const start = toApiKeysPrefix(namespace)
      const prefix = toApiKeysPrefix(namespace, account)
      const query = { prefix, limit, ...(after !== undefined && { after: `${start}${after}` }) }
      const { records, next } = await store.list(AUTH_TABLE, query, signal)
      return { keys: records.map(parseApiKeyRecord), next: next?.slice(start.length) }
    },

    async find(namespace, id) {
      const record = await read(id)
      const key = record && parseApiKeyRecord(record)
      return key?.namespace === namespace ? key : undefined
    },

    async rotate({ id, namespace, account }, graceMs, errorId) {
      for (let i = 0; i < ATTEMPTS_MAX; i++) {
        const record = await read(id)
        if (record === undefined) return undefined
        const before = parseApiKeyRecord(record)
        countRevocation({ namespace, account }, errorId)
        const key = createApiKey(id)
        const { previous, ...rest } = before
        const next: ApiKeyRecord = {
          ...rest,
          hash: hashApiKey(key),
          serial: before.serial + 1,
          ...(graceMs > 0 && { previous: { hash: before.hash, endsMs: nowMs() + graceMs } }),
        }
        const written = await commitIf(store, [
          { ...toWrite(next), ifVersion: record.version, mayUseReserve: false },
          // Cached sessions are verified again, because the previous secret has an expiry after the rotation.
          ...[false, true].map((isPrevious) => ({
            ...revokeToken(toSessionId(before, isPrevious), nowMs() + API_KEY_CACHE_MS),
            mayUseReserve: false,
          })),
        ])
        if (written !== undefined) return { record: next, key }
      }
      throw unavailable(errorId, 'the API key is in use by concurrent requests, try again')
    },

    async delete({ id, namespace, account }) {
      const record = await read(id)
      if (record === undefined) return false
      await store.commit([
        ...deleteApiKeys(namespace, account, [id]),
        revokeToken(id, nowMs() + API_KEY_CACHE_MS),
      ])
      return true
    },

    async verify({ id, hash }) {
      const record = await read(id)
      if (record === undefined) return undefined
      const key = parseApiKeyRecord(record)
      const { namespace, account, createdMs, scopes, limits } = key
      const endsMs = findEnd(key, hash)
      const owner = await accounts.find(namespace, account)
      // An account with the same id that was created later does not own the key.
      const isOwner = owner?.id === account && owner.created * 1000 <= createdMs
      if (!isOwner || endsMs <= nowMs()) return undefined
      await recordUse(record, key)
      const { name, type, issuer, metadata } = owner
      const granted = scopes.filter((scope) => owner.scopes.includes(scope))
      return {
        account: { id: account, name, type, issuer, scopes: granted, metadata, apiKey: id },
        id: toSessionId(key, hash !== key.hash),
        // Sessions from before `since` are revoked.
        issuedMs: Math.max(nowMs(), owner.since),
        endsMs,
        limits,
      }
    },
  }
}

function toWrite(record: ApiKeyRecord): StoreWrite {
  const { namespace, account, id } = record
  const key = `${toApiKeysPrefix(namespace, account)}${id}`
  return { table: AUTH_TABLE, key, value: encodeRecord(record), expiresMs: toRetention(record) }
}

function toOwnerWrite(record: ApiKeyRecord): StoreWrite {
  const { namespace, account, id } = record
  const value = encodeRecord({ namespace, account })
  return { table: AUTH_TABLE, key: toApiKeyOwnerKey(id), value, expiresMs: toRetention(record) }
}

function toRetention({ expiresMs }: ApiKeyRecord): number {
  return expiresMs === 0 ? 0 : expiresMs + RETAINED_MS
}

/** Ids of sessions with the current and the previous secret differ, because they are revoked separately. */
function toSessionId({ id, serial }: ApiKeyRecord, isPrevious: boolean): string {
  return isPrevious ? `${id}.${serial}p` : `${id}.${serial}`
}

/** Returns the expiry of a secret, Unix time in milliseconds; 0 if it is wrong. */
function findEnd({ hash, previous, expiresMs }: ApiKeyRecord, presented: string): number {
  const endsMs = expiresMs === 0 ? Number.POSITIVE_INFINITY : expiresMs
  if (isSame(hash, presented)) return endsMs
  if (previous === undefined || !isSame(previous.hash, presented)) return 0
  return Math.min(previous.endsMs, endsMs)
}

function isSame(hash: string, presented: string): boolean {
  const [left, right] = [Buffer.from(hash), Buffer.from(presented)]
  return left.length === right.length && timingSafeEqual(left, right)
}
