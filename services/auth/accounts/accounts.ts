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
import {
  type AccountRecord,
  parseAccountRecord,
  parseNameRecord,
  parseRevocation,
  TABLE,
  toAccountKey,
  toAccountsPrefix,
  toNameKey,
  toRevokedAccountKey,
} from '../records.ts'
import { nextSecond, revokeAccount } from '../tokens/revocation-store.ts'

/** Names, and ids that may be stored: no control characters, blanks or slashes. */
const STORED_ID = /^[^\s/\p{C}]{1,128}$/u
const NAME_FORM = 'up to 128 characters without blanks and slashes'
/** Ids of new accounts: ASCII, so that none looks like another, and none reads as a scope (`*`, `<public>`) in the audit. */
const NEW_ID = /^[A-Za-z0-9][\w.@:+=~-]{0,127}$/
const ID_FORM = 'up to 128 characters: a letter or digit, then letters, digits and . _ - @ : + = ~'
/** Shortest secret of an account, in characters. Shorter ones from before still log in. */
export const SECRET_MIN = 8
const SECRET_MAX = 1024
/** What a scope must be, as errors say it. */
export const SCOPE_FORM: string =
  '1 to 128 characters without blanks, commas and stars, or workload:<namespace>/<name>'
const SCOPE = /^[^\s,*+<>\p{C}]{1,128}$/u
/** What an account says of itself goes into tokens, which are 4 KiB at most. */
const CLAIMS_MAX = 2000

/** What an account is made of. */
export interface NewAccount {
  readonly id: string
  /** @default the id */
  readonly name?: string
  /** @default user */
  readonly type?: Account['type']
  readonly scopes?: readonly string[]
  readonly metadata?: Readonly<Record<string, string>>
  /** @default a random one */
  readonly secret?: string
  /** Whether the secret may be shorter than {@link SECRET_MIN}: the known one of profile `test`. @default false */
  readonly isKnownSecret?: boolean
}

/** An account, and what only whoever makes it is told. */
export interface CreatedAccount {
  readonly account: AccountRecord
  readonly secret: string
}

/** Which accounts to list. */
export interface AccountsQuery {
  /** Id behind which to go on. */
  readonly after?: string
  /** Most of a page. */
  readonly limit?: number
}

export interface AccountsPage {
  readonly accounts: readonly AccountRecord[]
  /** There are more: list after this id. */
  readonly next: string | undefined
}

/** Accounts of all namespaces. Each function throws errors of the id it is given: 400 for what is wrong with a request. */
export interface Accounts {
  readonly create: (
    namespace: string,
    given: NewAccount,
    errorId: string,
  ) => Promise<CreatedAccount>
  /** By id, else by name. */
  readonly find: (namespace: string, idOrName: string) => Promise<AccountRecord | undefined>
  /**
   * The account whose secret this is. Who does not exist takes as long to be refused as who has another secret.
   *
   * @param turn of the password check. @default that of the server itself
   * @throws {GatewayError} 400 for a wrong secret or id, alike.
   */
  readonly logIn: (
    namespace: string,
    idOrName: string,
    secret: string,
    errorId: string,
    turn?: HashSlot,
  ) => Promise<AccountRecord>
  /** In the order of their ids, a page at a time. */
  readonly list: (
    namespace: string,
    page?: AccountsQuery,
    signal?: AbortSignal,
  ) => Promise<AccountsPage>
  /**
   * What was issued to it counts for nothing.
   *
   * @returns whether there was one.
   */
  readonly delete: (namespace: string, id: string, errorId: string) => Promise<boolean>
  /**
   * What was issued to it counts for nothing.
   *
   * @param secrets without the old one it is not asked for.
   * @param turn of the check of the old secret. @default that of the server itself
   */
  readonly changeSecret: (
    namespace: string,
    id: string,
    secrets: { readonly old: string | undefined; readonly new: string },
    errorId: string,
    turn?: HashSlot,
  ) => Promise<void>
  /** Replaces the scopes of an account and revokes its tokens; one that has exactly these is left alone. @returns whether they were others. */
  readonly setScopes: (
    namespace: string,
    id: string,
    scopes: readonly string[],
    errorId: string,
  ) => Promise<boolean>
  /** What was issued to it until now counts for nothing. */
  readonly revoke: (namespace: string, id: string, errorId: string) => Promise<void>
}

export interface AccountsOptions {
  readonly store: Store
  readonly hasher: SecretHasher
  /** Unix time. */
  readonly nowMs: () => number
}

export function createAccounts({ store, hasher, nowMs }: AccountsOptions): Accounts {
  async function read(namespace: string, id: string): Promise<StoreRecord | undefined> {
    return STORED_ID.test(id) ? store.read(TABLE, toAccountKey(namespace, id)) : undefined
  }

  async function find(namespace: string, idOrName: string): Promise<AccountRecord | undefined> {
    const record = await read(namespace, idOrName)
    if (record !== undefined) return parseAccountRecord(record)
    if (!STORED_ID.test(idOrName)) return undefined
    const named = await store.read(TABLE, toNameKey(namespace, idOrName))
    if (named === undefined) return undefined
    const owner = await read(namespace, parseNameRecord(named).id)
    return owner && parseAccountRecord(owner)
  }

  /** What an account of the same id had before it was deleted counts for nothing. */
  async function findSince(namespace: string, id: string): Promise<number> {
    const record = await store.read(TABLE, toRevokedAccountKey(namespace, id))
    return record === undefined ? nowMs() : Math.max(nowMs(), parseRevocation(record).before)
  }

  /** Makes another account of one, and has all its tokens count for nothing. Undefined: somebody else was faster. */
  async function replace(account: AccountRecord, ifVersion: number) {
    const { issuer, id } = account
    const now = nowMs()
    const since = nextSecond(now)
    const value = encodeRecord({ ...account, since })
    return commitIf(store, [
      { table: TABLE, key: toAccountKey(issuer, id), value, ifVersion },
      revokeAccount(issuer, id, since, now),
    ])
  }

  return {
    find,

    async create(namespace, given, errorId) {
      const { id, name = id, type = 'user', scopes = [], metadata = {} } = given
      const { secret = randomUUID(), isKnownSecret = false } = given
      checkNewId(id, errorId)
      checkName('name', name, errorId)
      if (!isKnownSecret) checkNewSecret('secret', secret, errorId)
      checkClaims({ name, scopes, metadata }, errorId)
      checkWorkloadScopes(scopes, namespace, errorId)
      const account: AccountRecord = {
        ...{ id, name, type, issuer: namespace, scopes: [...new Set(scopes)], metadata },
        created: Math.floor(nowMs() / 1000),
        hash: await hasher.hash(secret, turnOf(namespace)),
        since: await findSince(namespace, id),
      }
      const key = toAccountKey(namespace, id)
      const made = await commitIf(store, [
        { table: TABLE, key, value: encodeRecord(account), ifVersion: 0 },
        {
          table: TABLE,
          key: toNameKey(namespace, name),
          value: encodeRecord({ id }),
          ifVersion: 0,
        },
      ])
      if (made === undefined) {
        const taken = (await read(namespace, id)) === undefined ? 'Name' : 'ID'
        throw badRequest(errorId, `Account with this ${taken} already exists`)
      }
      return { account, secret }
    },

    async logIn(namespace, idOrName, secret, errorId, turn) {
      checkSecret('secret', secret, errorId)
      const account = await find(namespace, idOrName)
      const matches = await hasher.matches(secret, account?.hash, turn)
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
      const { records, next } = await store.list(TABLE, query, signal)
      return { accounts: records.map(parseAccountRecord), next: next?.slice(prefix.length) }
    },

    async delete(namespace, id, errorId) {
      checkName('id', id, errorId)
      const record = await read(namespace, id)
      if (record === undefined) return false
      const { name } = parseAccountRecord(record)
      const now = nowMs()
      const deleted = await commitIf(store, [
        { table: TABLE, key: toAccountKey(namespace, id), ifVersion: record.version },
        { table: TABLE, key: toNameKey(namespace, name) },
        revokeAccount(namespace, id, nextSecond(now), now),
      ])
      return deleted === undefined ? this.delete(namespace, id, errorId) : true
    },

    async changeSecret(namespace, id, { old, new: secret }, errorId, turn) {
      if (secret === '') throw badRequest(errorId, 'New secret should not be blank')
      checkNewSecret('new_secret', secret, errorId)
      const account =
        old === undefined
          ? await find(namespace, id)
          : await this.logIn(namespace, id, old, errorId, turn)
      if (account === undefined) throw badRequest(errorId, 'Account not found with this ID')
      const record = await read(namespace, account.id)
      const hash = await hasher.hash(secret, turnOf(namespace))
      // Of two changes that both know the old secret one comes first, and the other no longer knows it.
      const isSame = record !== undefined && parseAccountRecord(record).hash === account.hash
      const changed = isSame && (await replace({ ...account, hash }, record.version))
      if (!changed) throw badRequest(errorId, 'the secret was changed meanwhile')
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

/** Whether an account can have a scope. */
export function isScope(scope: string): boolean {
  return isWorkloadScope(scope) ? parseWorkloadScope(scope) !== undefined : SCOPE.test(scope)
}

/** A workload scope counts in the namespace of its account only, and never for services of the platform. */
function checkWorkloadScopes(scopes: readonly string[], namespace: string, errorId: string): void {
  for (const [i, scope] of scopes.entries()) {
    if (!isWorkloadScope(scope)) continue
    const workload = parseWorkloadScope(scope)
    if (workload?.namespace === namespace && !isReservedName(workload.service)) continue
    throw badRequest(
      errorId,
      `request.scopes[${i}] must be workload:${namespace}/<name>, <name> being a service of the namespace ${namespace} that is not one of the platform`,
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
      `request.name, request.scopes and request.metadata must be at most ${CLAIMS_MAX} bytes of JSON together, got ${bytes}`,
    )
}

/** Hashes of new secrets are ordered by callers that are known: by namespace, before logins of unknown addresses. */
function turnOf(namespace: string): HashSlot {
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
      `request.id: ${id} differs from ${ADMIN} in letter case only; choose another id`,
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
