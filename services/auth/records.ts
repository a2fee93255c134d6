import type { Revocation } from '../../core/auth/token/revocations.ts'
import type { Account, ApiKeyLimits, Rule } from '../../core/contracts/auth.ts'
import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { decodeRecord } from '../../domain/store/json-record.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

/** Table used for all namespaces (reference 2.5). */
export const AUTH_TABLE: StoreTable = { database: DEFAULT_NAMESPACE, table: 'auth' }

/** A stored account. */
export interface AccountRecord extends Account {
  /** Seconds since 1970. */
  readonly created: number
  /** Hash of the secret. */
  readonly hash: string
  /** Tokens issued before this time are revoked, Unix time in milliseconds. */
  readonly since: number
}

/** A stored key pair. */
export interface KeyRecord {
  /** Key id (`kid`). */
  readonly id: string
  /** SPKI public key as DER in base64. */
  readonly publicKey: string
  /**
   * PKCS #8 private key as DER in base64, possibly encrypted. Empty if only the signing server
   * stores it.
   */
  readonly privateKey: string
  /** Id of the key that encrypts the private key; empty if not encrypted. */
  readonly sealedWith: string
  /**
   * Time from which the key is used for signing, Unix time in milliseconds. All servers have
   * received the key by then.
   */
  readonly from: number
}

export interface UsedToken {
  /** SHA-256 of the token in base64url. */
  readonly hash: string
  /**
   * Random key that derives the successor from the token itself, so that repeating the token yields
   * the same successor.
   */
  readonly seed: string
  /** Time of the first use, Unix time in milliseconds. */
  readonly usedMs: number
}

/** A stored token family, which consists of all refresh tokens of one login. */
export interface FamilyRecord {
  readonly namespace: string
  readonly account: string
  /** Time of the login, Unix time in milliseconds. */
  readonly began: number
  /** SHA-256 of the valid token in base64url. */
  readonly hash: string
  /**
   * Tokens used within the grace period, oldest first. Each token derives the next one; the last
   * one derives the valid token.
   *
   * @default none
   */
  readonly used?: readonly UsedToken[]
}

/** A stored API key. */
export interface ApiKeyRecord {
  readonly id: string
  readonly namespace: string
  /** Id of the owner. */
  readonly account: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly limits: ApiKeyLimits
  /** SHA-256 of the key in base64url. */
  readonly hash: string
  /** Replaced key that is valid until `endsMs`. @default none */
  readonly previous?: { readonly hash: string; readonly endsMs: number }
  /** Increases with each change after which cached sessions must be verified again. */
  readonly serial: number
  /** Unix time in milliseconds. */
  readonly createdMs: number
  /** Expiry, Unix time in milliseconds; 0 if the key never expires. */
  readonly expiresMs: number
  /** Time of the last use with a resolution of an hour, Unix time in milliseconds; 0 if never used. */
  readonly usedMs: number
}

/** Owner of an API key. */
export interface ApiKeyOwnerRecord {
  readonly namespace: string
  readonly account: string
}

export const KEYS_PREFIX = 'key/'
export const REVOKED_PREFIX = 'revoked/'

export function toAccountsPrefix(namespace: string): string {
  return `account/${namespace}/`
}

export function toAccountKey(namespace: string, id: string): string {
  return `${toAccountsPrefix(namespace)}${id}`
}

/** Returns the key of the record with the account id of a name. */
export function toNameKey(namespace: string, name: string): string {
  return `accountByName/${namespace}/${name}`
}

export function toRulesPrefix(namespace: string): string {
  return `rules/${namespace}/`
}

export function toRuleKey(namespace: string, id: string): string {
  return `${toRulesPrefix(namespace)}${id}`
}

export const RULES_HEADS_PREFIX = 'rulesHead/'

/**
 * Returns the key of the record of a namespace with changed rules. Each change to the rules
 * rewrites the record.
 */
export function toRulesHeadKey(namespace: string): string {
  return `${RULES_HEADS_PREFIX}${namespace}`
}

export function toKeyKey(id: string): string {
  return `${KEYS_PREFIX}${id}`
}

/** Returns the key of the record of a revoked token or token prefix. */
export function toRevokedTokenKey(id: string): string {
  return `${REVOKED_PREFIX}token/${id}`
}

/** Returns the key of the record of an account whose tokens were revoked. */
export function toRevokedAccountKey(namespace: string, account: string): string {
  return `${REVOKED_PREFIX}account/${namespace}/${account}`
}

/** Returns the key of the record of a token family. */
export function toFamilyKey(family: string): string {
  return `refresh/${family}`
}

/** Returns the prefix of the API keys of a namespace, or of one of its accounts. */
export function toApiKeysPrefix(namespace: string, account?: string): string {
  return account === undefined ? `apiKey/${namespace}/` : `apiKey/${namespace}/${account}/`
}

/** Returns the key of the record with the owner of an API key. */
export function toApiKeyOwnerKey(id: string): string {
  return `apiKeyOwner/${id}`
}

/** @throws {GatewayError} 500 */
export function parseApiKeyRecord(record: StoreRecord): ApiKeyRecord {
  return decodeRecord<ApiKeyRecord>(
    record,
    AUTH_TABLE.table,
    ({ hash, account, scopes, serial, expiresMs }) =>
      isText(hash) &&
      isText(account) &&
      Array.isArray(scopes) &&
      Number.isInteger(serial) &&
      Number.isFinite(expiresMs),
  )
}

/** @throws {GatewayError} 500 */
export function parseApiKeyOwner(record: StoreRecord): ApiKeyOwnerRecord {
  return decodeRecord<ApiKeyOwnerRecord>(
    record,
    AUTH_TABLE.table,
    ({ namespace, account }) => isText(namespace) && isText(account),
  )
}

/** @throws {GatewayError} 500 */
export function parseAccountRecord(record: StoreRecord): AccountRecord {
  return decodeRecord<AccountRecord>(
    record,
    AUTH_TABLE.table,
    ({ hash, scopes }) => isText(hash) && Array.isArray(scopes),
  )
}

/** @throws {GatewayError} 500 */
export function parseNameRecord(record: StoreRecord): { readonly id: string } {
  return decodeRecord<{ id: string }>(record, AUTH_TABLE.table, ({ id }) => isText(id))
}

/** @throws {GatewayError} 500 */
export function parseRuleRecord(record: StoreRecord): Rule {
  return decodeRecord<Rule>(
    record,
    AUTH_TABLE.table,
    ({ id, resource }) => isText(id) && typeof resource === 'object',
  )
}

/** @throws {GatewayError} 500 */
export function parseKeyRecord(record: StoreRecord): KeyRecord {
  return decodeRecord<KeyRecord>(
    record,
    AUTH_TABLE.table,
    ({ id, publicKey, privateKey, from }) =>
      isText(id) && isText(publicKey) && isText(privateKey) && Number.isFinite(from),
  )
}

/** @throws {GatewayError} 500 */
export function parseRevocation(record: StoreRecord): Revocation {
  return decodeRecord<Revocation>(
    record,
    AUTH_TABLE.table,
    ({ id, ends }) => isText(id) && Number.isFinite(ends),
  )
}

/** @throws {GatewayError} 500 */
export function parseFamilyRecord(record: StoreRecord): FamilyRecord {
  return decodeRecord<FamilyRecord>(
    record,
    AUTH_TABLE.table,
    ({ account, hash, began }) => isText(account) && isText(hash) && Number.isFinite(began),
  )
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}
