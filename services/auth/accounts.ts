import { randomUUID } from 'node:crypto'
import type { Account } from '../../core/contracts/auth.ts'
import type { StoreRecord } from '../../core/contracts/store.ts'
import { commitIf } from '../../core/store/commit-if.ts'
import { formatKept } from '../../core/store/kept-json.ts'
import { readAll } from '../../core/store/read-all.ts'
import type { Store } from '../../core/store/store.ts'
import { badRequest } from '../../sdk/errors.ts'
import {
  type AccountRecord,
  parseAccountRecord,
  parseNameRecord,
  TABLE,
  toAccountKey,
  toAccountsPrefix,
  toNameKey,
} from './records.ts'
import type { SecretHasher } from './secret-hash.ts'

/** No control characters, blanks or slashes. */
const ID = /^[^\s/\p{C}]{1,128}$/u
const ID_FORM = 'up to 128 characters without blanks and slashes'
const SECRET_MAX = 1024

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
}

/** An account, and what only whoever makes it is told. */
export interface CreatedAccount {
  readonly account: AccountRecord
  readonly secret: string
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
   * @throws {GatewayError} 400 for a wrong secret or id, alike.
   */
  readonly logIn: (
    namespace: string,
    idOrName: string,
    secret: string,
    errorId: string,
  ) => Promise<AccountRecord>
  /** In the order of their ids. */
  readonly list: (namespace: string, signal?: AbortSignal) => Promise<readonly AccountRecord[]>
  /** @returns whether there was one. */
  readonly delete: (namespace: string, id: string, errorId: string) => Promise<boolean>
  readonly changeSecret: (
    namespace: string,
    id: string,
    secrets: { readonly old: string; readonly new: string },
    errorId: string,
  ) => Promise<void>
}

export interface AccountsOptions {
  readonly store: Store
  readonly hasher: SecretHasher
  /** Unix time. */
  readonly nowMs: () => number
}

export function createAccounts({ store, hasher, nowMs }: AccountsOptions): Accounts {
  async function read(namespace: string, id: string): Promise<StoreRecord | undefined> {
    return ID.test(id) ? store.read(TABLE, toAccountKey(namespace, id)) : undefined
  }

  async function find(namespace: string, idOrName: string): Promise<AccountRecord | undefined> {
    const record = await read(namespace, idOrName)
    if (record !== undefined) return parseAccountRecord(record)
    if (!ID.test(idOrName)) return undefined
    const named = await store.read(TABLE, toNameKey(namespace, idOrName))
    if (named === undefined) return undefined
    const owner = await read(namespace, parseNameRecord(named).id)
    return owner && parseAccountRecord(owner)
  }

  return {
    find,

    async create(namespace, given, errorId) {
      const { id, name = id, type = 'user', scopes = [], metadata = {} } = given
      const { secret = randomUUID() } = given
      checkId('id', id, errorId)
      checkId('name', name, errorId)
      checkSecret('secret', secret, errorId)
      const account: AccountRecord = {
        ...{ id, name, type, issuer: namespace, scopes: [...new Set(scopes)], metadata },
        created: Math.floor(nowMs() / 1000),
        hash: await hasher.hash(secret),
      }
      const key = toAccountKey(namespace, id)
      const made = await commitIf(store, [
        { table: TABLE, key, value: formatKept(account), ifVersion: 0 },
        {
          table: TABLE,
          key: toNameKey(namespace, name),
          value: formatKept({ id }),
          ifVersion: 0,
        },
      ])
      if (made === undefined) {
        const taken = (await read(namespace, id)) === undefined ? 'Name' : 'ID'
        throw badRequest(errorId, `Account with this ${taken} already exists`)
      }
      return { account, secret }
    },

    async logIn(namespace, idOrName, secret, errorId) {
      checkSecret('secret', secret, errorId)
      const account = await find(namespace, idOrName)
      const matches = await hasher.matches(secret, account?.hash)
      if (account === undefined || !matches)
        throw badRequest(errorId, 'Secret not correct, or no account with this ID')
      return account
    },

    async list(namespace, signal) {
      const records = await readAll(store, TABLE, toAccountsPrefix(namespace), signal)
      return records.map(parseAccountRecord)
    },

    async delete(namespace, id, errorId) {
      checkId('id', id, errorId)
      const record = await read(namespace, id)
      if (record === undefined) return false
      const { name } = parseAccountRecord(record)
      const deleted = await commitIf(store, [
        { table: TABLE, key: toAccountKey(namespace, id), ifVersion: record.version },
        { table: TABLE, key: toNameKey(namespace, name) },
      ])
      return deleted === undefined ? this.delete(namespace, id, errorId) : true
    },

    async changeSecret(namespace, id, { old, new: secret }, errorId) {
      if (secret === '') throw badRequest(errorId, 'New secret should not be blank')
      checkSecret('new_secret', secret, errorId)
      const account = await this.logIn(namespace, id, old, errorId)
      const record = await read(namespace, account.id)
      const hash = await hasher.hash(secret)
      // Of two changes that both know the old secret one comes first, and the other no longer knows it.
      const isSame = record !== undefined && parseAccountRecord(record).hash === account.hash
      if (!isSame) throw badRequest(errorId, 'the secret was changed meanwhile')
      const key = toAccountKey(namespace, account.id)
      const value = formatKept({ ...account, hash })
      const changed = await commitIf(store, [
        { table: TABLE, key, value, ifVersion: record.version },
      ])
      if (changed === undefined) throw badRequest(errorId, 'the secret was changed meanwhile')
    },
  }
}

function checkId(field: string, id: string, errorId: string): void {
  if (id === '') throw badRequest(errorId, `${field === 'id' ? 'ID' : field} required`)
  if (!ID.test(id)) throw badRequest(errorId, `request.${field} must be ${ID_FORM}`)
}

function checkSecret(field: string, secret: string, errorId: string): void {
  if (secret === '' || secret.length > SECRET_MAX)
    throw badRequest(errorId, `request.${field} must be 1 to ${SECRET_MAX} characters`)
}
