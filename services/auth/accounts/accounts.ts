import { randomUUID } from 'node:crypto'
import {
  ADMIN,
  isWorkloadScope,
  parseWorkloadScope,
} from '../../../core/auth/policy/account-rights.ts'
import type { HashSlot, SecretHasher } from '../../../core/auth/token/secret-hash.ts'
import type { Account } from '../../../core/contracts/auth.ts'
import type { StoreRecord } from '../../../core/contracts/store.ts'
import { isReservedName } from '../../../core/registry/built-in-services.ts'
import { commitIf } from '../../../domain/store/commit-if.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store } from '../../../domain/store/store.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'
import { listApiKeyDeletions } from '../api-keys/deletions.ts'
import {
  type AccountRecord,
  AUTH_TABLE,
  parseAccountRecord,
  parseNameRecord,
  parseRevocation,
  toAccountKey,
  toAccountsPrefix,
  toNameKey,
  toRevokedAccountKey,
} from '../records.ts'
import { nextSecond, revokeAccount } from '../tokens/revocation-store.ts'

/** Stored names and ids contain no control characters, whitespace or slashes. */
const STORED_ID = /^[^\s/\p{C}]{1,128}$/u
const NAME_FORM = 'at most 128 characters without whitespace or slashes'
/**
 * Ids of new accounts are ASCII, so that no two look alike and none can be mistaken for a scope
 * (`*`, `<public>`) in the audit log.
 */
const NEW_ID = /^[A-Za-z0-9][\w.@:+=~-]{0,127}$/
const ID_FORM =
  'at most 128 characters: a letter or digit, then letters, digits and . _ - @ : + = ~'
/**
 * Minimum length of new secrets in characters. Shorter secrets created by earlier versions remain
 * valid.
 */
export const SECRET_MIN = 8
const SECRET_MAX = 1024
/** Rule for scopes, used in error messages. */
export const SCOPE_FORM: string =
  '1 to 128 characters without whitespace, commas or asterisks, or workload:<namespace>/<name>'
const SCOPE = /^[^\s,*+<>\p{C}]{1,128}$/u
/** Maximum size of claims, because tokens are limited to 4 KiB. */
const CLAIMS_MAX = 2000

export interface NewAccount {
  readonly id: string
  /** @default the id */
  readonly name?: string
  /** @default user */
  readonly type?: Account['type']
  readonly scopes?: readonly string[]
  readonly metadata?: Readonly<Record<string, string>>
  /** @default a random secret */
  readonly secret?: string
  /**
   * Whether the secret may be shorter than {@link SECRET_MIN}, like the public secret of the `test` profile.
   *
   * @default false
   */
  readonly allowShortSecret?: boolean
}

/** A created account with its secret, which is only returned once. */
export interface CreatedAccount {
  readonly account: AccountRecord
  readonly secret: string
}

export interface AccountsQuery {
  /** Id after which the page starts. */
  readonly after?: string
  /** Page size. */
  readonly limit?: number
}

export interface AccountsPage {
  readonly accounts: readonly AccountRecord[]
  /** Cursor of the next page. */
  readonly next: string | undefined
}

/**
 * Accounts of all namespaces. Errors contain the id passed by the caller; invalid input fails with
 * 400.
 */
export interface Accounts {
  readonly create: (
    namespace: string,
    input: NewAccount,
    errorId: string,
  ) => Promise<CreatedAccount>
  /** Finds an account by id, or otherwise by name. */
  readonly find: (namespace: string, idOrName: string) => Promise<AccountRecord | undefined>
  /**
   * Verifies a secret. An unknown account takes as long as a wrong secret, which prevents user
   * enumeration.
   *
   * @param turn slot for computing the password hash. @default the slot of the server itself
   * @throws {GatewayError} 400, which is the same for a wrong secret and an unknown id.
   */
  readonly logIn: (
    namespace: string,
    idOrName: string,
    secret: string,
    errorId: string,
    slot?: HashSlot,
  ) => Promise<AccountRecord>
  /** Lists accounts sorted by id, paginated. */
  readonly list: (
    namespace: string,
    page?: AccountsQuery,
    signal?: AbortSignal,
  ) => Promise<AccountsPage>
  /**
   * Deletes an account with its API keys, and revokes its tokens.
   *
   * @returns whether it existed.
   */
  readonly delete: (namespace: string, id: string, errorId: string) => Promise<boolean>
  /**
   * Changes the secret of an account and revokes its tokens.
   *
   * @param secrets if the old secret is missing, it is not verified.
   * @param turn slot for hashing the old secret. @default the slot of the server itself
   */
  readonly changeSecret: (
    namespace: string,
    id: string,
    secrets: { readonly old: string | undefined; readonly new: string },
    errorId: string,
    slot?: HashSlot,
  ) => Promise<void>
  /**
   * Replaces the scopes of an account and revokes its tokens if the scopes differ.
   *
   * @returns whether they differed.
   */
  readonly setScopes: (
    namespace: string,
    id: string,
    scopes: readonly string[],
    errorId: string,
  ) => Promise<boolean>
  /** Revokes all tokens issued so far. */
  readonly revoke: (namespace: string, id: string, errorId: string) => Promise<void>
}

export interface AccountsOptions {
  readonly store: Store
  readonly hasher: SecretHasher
  /** Unix time in milliseconds. */
  readonly nowMs: () => number
}

export function createAccounts({ store, hasher, nowMs }: AccountsOptions): Accounts {
  async function read(namespace: string, id: string): Promise<StoreRecord | undefined> {
    return STORED_ID.test(id) ? store.read(AUTH_TABLE, toAccountKey(namespace, id)) : undefined
  }

  async function find(namespace: string, idOrName: string): Promise<AccountRecord | undefined> {
    const record = await read(namespace, idOrName)
    if (record !== undefined) return parseAccountRecord(record)
    if (!STORED_ID.test(idOrName)) return undefined
    const nameRecord = await store.read(AUTH_TABLE, toNameKey(namespace, idOrName))
    if (nameRecord === undefined) return undefined
    const owner = await read(namespace, parseNameRecord(nameRecord).id)
    return owner && parseAccountRecord(owner)
  }

  /** Ensures that tokens of a deleted account with the same id stay revoked. */
  async function findSince(namespace: string, id: string): Promise<number> {
    const record = await store.read(AUTH_TABLE, toRevokedAccountKey(namespace, id))
    return record === undefined ? nowMs() : Math.max(nowMs(), parseRevocation(record).before)
  }

  /** Replaces an account and revokes its tokens. Returns undefined on a version conflict. */
  async function replace(account: AccountRecord, ifVersion: number) {
    const { issuer, id } = account
    const now = nowMs()
    const since = nextSecond(now)
    const value = encodeRecord({ ...account, since })
    return commitIf(store, [
      { table: AUTH_TABLE, key: toAccountKey(issuer, id), value, ifVersion },
      revokeAccount(issuer, id, since, now),
    ])
  }

  return {
    find,

    async create(namespace, input, errorId) {
      const { id, name = id, type = 'user', scopes = [], metadata = {} } = input
      const { secret = randomUUID(), allowShortSecret = false } = input
      checkNewId(id, errorId)
      checkName('name', name, errorId)
      if (!allowShortSecret) checkNewSecret('secret', secret, errorId)
      checkClaims({ name, scopes, metadata }, errorId)
      checkWorkloadScopes(scopes, namespace, errorId)
      const account: AccountRecord = {
        ...{ id, name, type, issuer: namespace, scopes: [...new Set(scopes)], metadata },
        created: Math.floor(nowMs() / 1000),
        hash: await hasher.hash(secret, slotOf(namespace)),
        since: await findSince(namespace, id),
      }
      const key = toAccountKey(namespace, id)
      const isCreated = await commitIf(store, [
        {
          ...{ table: AUTH_TABLE, key, value: encodeRecord(account), ifVersion: 0 },
          mayUseReserve: namespace === DEFAULT_NAMESPACE,
        },
        {
          table: AUTH_TABLE,
          key: toNameKey(namespace, name),
          value: encodeRecord({ id }),
          ifVersion: 0,
        },
      ])
      if (isCreated === undefined) {
        const duplicate = (await read(namespace, id)) === undefined ? 'Name' : 'ID'
        throw badRequest(errorId, `Account with this ${duplicate} already exists`)
      }
      return { account, secret }
    },

    async logIn(namespace, idOrName, secret, errorId, slot) {
      checkSecret('secret', secret, errorId)
      const account = await find(namespace, idOrName)
      const matches = await hasher.matches(secret, account?.hash, slot)
      if (account === undefined || !matches)
        throw badRequest(errorId, 'Secret not correct, or no account with this ID')
      return account
    },

    async list(namespace, { after, limit } = {}, signal) {
      const prefix = toAccountsPrefix(namespace)
      const query = {
        prefix,
        ...(after !== undefined && { after: `${prefix}${after}` }),
        ...(limit !== undefined && { limit }),
      }
      const { records, next } = await store.list(AUTH_TABLE, query, signal)
      return { accounts: records.map(parseAccountRecord), next: next?.slice(prefix.length) }
    },

    async delete(namespace, id, errorId) {
      checkName('id', id, errorId)
      const record = await read(namespace, id)
      if (record === undefined) return false
      const { name } = parseAccountRecord(record)
      const now = nowMs()
      const deleted = await commitIf(store, [
        { table: AUTH_TABLE, key: toAccountKey(namespace, id), ifVersion: record.version },
        { table: AUTH_TABLE, key: toNameKey(namespace, name) },
        revokeAccount(namespace, id, nextSecond(now), now),
        ...(await listApiKeyDeletions(store, namespace, id)),
      ])
      return deleted === undefined ? this.delete(namespace, id, errorId) : true
    },

    async changeSecret(namespace, id, { old, new: secret }, errorId, slot) {
      if (secret === '') throw badRequest(errorId, 'New secret should not be blank')
      checkNewSecret('new_secret', secret, errorId)
      const account =
        old === undefined
          ? await find(namespace, id)
          : await this.logIn(namespace, id, old, errorId, slot)
      if (account === undefined) throw badRequest(errorId, 'Account not found with this ID')
      const record = await read(namespace, account.id)
      const hash = await hasher.hash(secret, slotOf(namespace))
      // If two concurrent changes use the same old secret, only the first one succeeds.
      const isSame = record !== undefined && parseAccountRecord(record).hash === account.hash
      const changed = isSame && (await replace({ ...account, hash }, record.version))
      if (!changed) throw badRequest(errorId, 'the secret was changed concurrently')
    },

    async setScopes(namespace, id, scopes, errorId) {
      checkWorkloadScopes(scopes, namespace, errorId)
      for (;;) {
        const record = await read(namespace, id)
        if (record === undefined) throw badRequest(errorId, 'Account not found with this ID')
        const account = parseAccountRecord(record)
        checkClaims({ ...account, scopes }, errorId)
        if (JSON.stringify(account.scopes) === JSON.stringify(scopes)) return false
        if ((await replace({ ...account, scopes }, record.version)) !== undefined) return true
      }
    },

    async revoke(namespace, id, errorId) {
      for (;;) {
        const record = await read(namespace, id)
        if (record === undefined) throw badRequest(errorId, 'Account not found with this ID')
        if ((await replace(parseAccountRecord(record), record.version)) !== undefined) return
      }
    },
  }
}

export function isScope(scope: string): boolean {
  return isWorkloadScope(scope) ? parseWorkloadScope(scope) !== undefined : SCOPE.test(scope)
}

/**
 * Rejects workload scopes outside the namespace of the account, and workload scopes of built-in services.
 */
function checkWorkloadScopes(scopes: readonly string[], namespace: string, errorId: string): void {
  for (const [i, scope] of scopes.entries()) {
    if (!isWorkloadScope(scope)) continue
    const workload = parseWorkloadScope(scope)
    if (workload?.namespace === namespace && !isReservedName(workload.service)) continue
    throw badRequest(
      errorId,
      `request.scopes[${i}] must be workload:${namespace}/<name>, where <name> is a service of the namespace ${namespace} and not a built-in service`,
    )
  }
}

function checkClaims(
  { name, scopes, metadata }: Pick<Account, 'name' | 'scopes' | 'metadata'>,
  errorId: string,
): void {
  const claims = { name, scopes, metadata }
  const wrong = claims.scopes.findIndex((scope) => !isScope(scope))
  if (wrong >= 0) throw badRequest(errorId, `request.scopes[${wrong}] must be ${SCOPE_FORM}`)
  const bytes = Buffer.byteLength(JSON.stringify(claims))
  if (bytes > CLAIMS_MAX)
    throw badRequest(
      errorId,
      `request.name, request.scopes and request.metadata must be at most ${CLAIMS_MAX} bytes of JSON in total, got ${bytes}`,
    )
}

/** Queues hashes of new secrets by namespace, with priority over logins from unknown addresses. */
function slotOf(namespace: string): HashSlot {
  return { key: `namespace ${namespace}`, hasPriority: true }
}

function checkName(field: string, name: string, errorId: string): void {
  if (name === '') throw badRequest(errorId, `${field === 'id' ? 'ID' : field} required`)
  if (!STORED_ID.test(name)) throw badRequest(errorId, `request.${field} must be ${NAME_FORM}`)
}

function checkNewId(id: string, errorId: string): void {
  if (id === '') throw badRequest(errorId, 'ID required')
  if (!NEW_ID.test(id)) throw badRequest(errorId, `request.id must be ${ID_FORM}`)
  if (id !== ADMIN && id.toLowerCase() === ADMIN)
    throw badRequest(
      errorId,
      `request.id: ${id} differs from ${ADMIN} only in letter case; choose another id`,
    )
}

function checkNewSecret(field: string, secret: string, errorId: string): void {
  if (secret.length < SECRET_MIN || secret.length > SECRET_MAX)
    throw badRequest(errorId, `request.${field} must be ${SECRET_MIN} to ${SECRET_MAX} characters`)
}

function checkSecret(field: string, secret: string, errorId: string): void {
  if (secret === '' || secret.length > SECRET_MAX)
    throw badRequest(errorId, `request.${field} must be 1 to ${SECRET_MAX} characters`)
}
