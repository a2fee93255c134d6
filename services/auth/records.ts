import type { Account, Rule } from '../../core/contracts/auth.ts'
import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { parseKept } from '../../core/store/kept-json.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

/** Where everything is, of all namespaces (reference 2.5). */
export const TABLE: StoreTable = { database: DEFAULT_NAMESPACE, table: 'auth' }

/** An account as it is kept. */
export interface AccountRecord extends Account {
  /** Seconds since 1970. */
  readonly created: number
  /** Of its secret. */
  readonly hash: string
}

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

/** Record that is there once a namespace has had rules, and is written again with each change of them. */
export function toRulesHeadKey(namespace: string): string {
  return `rulesHead/${namespace}`
}

/** @throws {GatewayError} 500 */
export function parseAccountRecord(record: StoreRecord): AccountRecord {
  return parseKept<AccountRecord>(
    record,
    TABLE.table,
    ({ hash, scopes }) => isText(hash) && Array.isArray(scopes),
  )
}

/** @throws {GatewayError} 500 */
export function parseNameRecord(record: StoreRecord): { readonly id: string } {
  return parseKept<{ id: string }>(record, TABLE.table, ({ id }) => isText(id))
}

/** @throws {GatewayError} 500 */
export function parseRuleRecord(record: StoreRecord): Rule {
  return parseKept<Rule>(
    record,
    TABLE.table,
    ({ id, resource }) => isText(id) && typeof resource === 'object',
  )
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}
