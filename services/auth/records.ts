import type { Revocation } from '../../core/auth/token/revocations.ts'
import type { Account, Rule } from '../../core/contracts/auth.ts'
import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { decodeRecord } from '../../domain/store/json-record.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

/** Where everything is, of all namespaces (reference 2.5). */
export const TABLE: StoreTable = { database: DEFAULT_NAMESPACE, table: 'auth' }

/** An account as it is kept. */
export interface AccountRecord extends Account {
  /** Seconds since 1970. */
  readonly created: number
  /** Of its secret. */
  readonly hash: string
  /** What was issued to it before counts for nothing, unix time in milliseconds. */
  readonly since: number
}

/** A pair of keys as it is kept. */
export interface KeyRecord {
  /** `kid`. */
  readonly id: string
  /** SPKI, DER in base64. */
  readonly publicKey: string
  /** PKCS #8, DER in base64, or what was made of it; empty: whoever signs with it keeps it. */
  readonly privateKey: string
  /** Id of the key the private one is encrypted with; empty: it is not. */
  readonly sealedWith: string
  /** When it begins to sign, unix time in milliseconds: by then all servers know it. */
  readonly from: number
}

/** A refresh token that was used. */
export interface UsedToken {
  /** Its SHA-256, in base64url. */
  readonly hash: string
  /** Random key. Makes its successor from the token itself, so that repeating the token yields the same one. */
  readonly seed: string
  /** When it was used first, Unix time in milliseconds. */
  readonly usedMs: number
}

/** What a refresh token belongs to, as it is kept: all that came of one login. */
export interface FamilyRecord {
  readonly namespace: string
  readonly account: string
  /** When it began, unix time in milliseconds. */
  readonly began: number
  /** SHA-256 of the token that is valid now, in base64url. */
  readonly hash: string
  /** Tokens that were used within the grace, the oldest first. Each makes the next one, the last one makes the valid token. @default none */
  readonly used?: readonly UsedToken[]
}

/** What keys of pairs of keys begin with. */
export const KEYS_PREFIX = 'key/'
/** What keys of revocations begin with. */
export const REVOKED_PREFIX = 'revoked/'

/** What keys of accounts begin with. */
export function toAccountsPrefix(namespace: string): string {
  return `account/${namespace}/`
}

export function toAccountKey(namespace: string, id: string): string {
  return `${toAccountsPrefix(namespace)}${id}`
}

/** Record that holds the id of the account of a name. */
export function toNameKey(namespace: string, name: string): string {
  return `accountByName/${namespace}/${name}`
}

/** What keys of rules begin with. */
export function toRulesPrefix(namespace: string): string {
  return `rules/${namespace}/`
}

export function toRuleKey(namespace: string, id: string): string {
  return `${toRulesPrefix(namespace)}${id}`
}

/** What keys of {@link toRulesHeadKey} begin with. */
export const RULES_HEADS_PREFIX = 'rulesHead/'

/** Record that is there once a namespace has had rules, and is written again with each change of them. */
export function toRulesHeadKey(namespace: string): string {
  return `${RULES_HEADS_PREFIX}${namespace}`
}

/** Record of a pair of keys. */
export function toKeyKey(id: string): string {
  return `${KEYS_PREFIX}${id}`
}

/** Record of a token, or of what tokens begin with, that was revoked. */
export function toRevokedTokenKey(id: string): string {
  return `${REVOKED_PREFIX}token/${id}`
}

/** Record of an account of which tokens were revoked. */
export function toRevokedAccountKey(namespace: string, account: string): string {
  return `${REVOKED_PREFIX}account/${namespace}/${account}`
}

/** Record of a login. */
export function toFamilyKey(family: string): string {
  return `refresh/${family}`
}

/** @throws {GatewayError} 500 */
export function parseAccountRecord(record: StoreRecord): AccountRecord {
  return decodeRecord<AccountRecord>(
    record,
    TABLE.table,
    ({ hash, scopes }) => isText(hash) && Array.isArray(scopes),
  )
}

/** @throws {GatewayError} 500 */
export function parseNameRecord(record: StoreRecord): { readonly id: string } {
  return decodeRecord<{ id: string }>(record, TABLE.table, ({ id }) => isText(id))
}

/** @throws {GatewayError} 500 */
export function parseRuleRecord(record: StoreRecord): Rule {
  return decodeRecord<Rule>(
    record,
    TABLE.table,
    ({ id, resource }) => isText(id) && typeof resource === 'object',
  )
}

/** @throws {GatewayError} 500 */
export function parseKeyRecord(record: StoreRecord): KeyRecord {
  return decodeRecord<KeyRecord>(
    record,
    TABLE.table,
    ({ id, publicKey, privateKey, from }) =>
      isText(id) && isText(publicKey) && isText(privateKey) && Number.isFinite(from),
  )
}

/** @throws {GatewayError} 500 */
export function parseRevocation(record: StoreRecord): Revocation {
  return decodeRecord<Revocation>(
    record,
    TABLE.table,
    ({ id, ends }) => isText(id) && Number.isFinite(ends),
  )
}

/** @throws {GatewayError} 500 */
export function parseFamilyRecord(record: StoreRecord): FamilyRecord {
  return decodeRecord<FamilyRecord>(
    record,
    TABLE.table,
    ({ account, hash, began }) => isText(account) && isText(hash) && Number.isFinite(began),
  )
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}
