import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { decodeRecord, encodeRecord } from '../../domain/store/json-record.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

/** Name of the table in the database of a namespace. */
export const CONFIG_TABLE = 'config'
/** Key prefix of the current head and tree. */
export const NOW = 'now/'
/** Key of the record with the list of versions. */
export const HEAD: string = `${NOW}head`
/** Key prefix of previous versions. */
const BEFORE = 'before/'

/** Digits of the maximum version. */
const DIGITS = 16

export type ConfigAction = 'set' | 'delete' | 'rollback'

export interface VersionEntry {
  readonly version: number
  readonly timestamp: number
  /** Account id of the author; empty if anonymous. */
  readonly account: string
  readonly action: ConfigAction
  /** Path that was set or deleted. */
  readonly path: string
  /** Whether the value was marked as secret. */
  readonly secret: boolean
  /** Id of the key that encrypts the secrets in its record; absent if it has no secrets. */
  readonly keyId?: string
}

/** Versions of a namespace. */
export interface Head {
  /** Id of the key that encrypts its secrets; absent if it has never had secrets. */
  readonly keyId?: string
  /** At least one version, oldest first. The last one is current. */
  readonly versions: readonly VersionEntry[]
}

/** Note about the key that encrypts the secrets of all namespaces. */
export interface KeyNote {
  readonly keyId: string
  /** Whether a key rotation may have left versions that are not listed in any head. */
  readonly untidy: boolean
}

/** Location of the {@link KeyNote}. */
export const KEY_NOTE: { readonly table: StoreTable; readonly key: string } = {
  table: toTable(DEFAULT_NAMESPACE),
  key: 'key',
}

export function toTable(namespace: string): StoreTable {
  return { database: namespace, table: CONFIG_TABLE }
}

/**
 * Returns the key of the current tree. Re-encryption writes it under a different key, as it does
 * for versions.
 */
export function toTreeKey({ keyId }: Pick<VersionEntry, 'keyId'>): string {
  return withKeyId(`${NOW}tree`, keyId)
}

/**
 * Returns the key of a previous version, whose record is the patch that restores it from the next
 * version.
 */
export function toPatchKey({ version, keyId }: Pick<VersionEntry, 'version' | 'keyId'>): string {
  return withKeyId(`${BEFORE}${String(version).padStart(DIGITS, '0')}`, keyId)
}

/** Returns the keys of all versions in order. */
export function toKeys({ versions }: Head): string[] {
  return versions.map((entry, i) =>
    i === versions.length - 1 ? toTreeKey(entry) : toPatchKey(entry),
  )
}

function withKeyId(key: string, keyId: string | undefined): string {
  return keyId === undefined ? key : `${key}/${keyId}`
}

export function formatHead(head: Head): Buffer {
  return encodeRecord(head)
}

/** @throws {GatewayError} 500 */
export function parseHead(record: StoreRecord): Head {
  return decodeRecord<Head>(
    record,
    CONFIG_TABLE,
    ({ versions }) => Array.isArray(versions) && versions.length > 0,
  )
}

export function formatKeyNote(note: KeyNote): Buffer {
  return encodeRecord(note)
}

/** @throws {GatewayError} 500 */
export function parseKeyNote(record: StoreRecord): KeyNote {
  return decodeRecord<KeyNote>(record, CONFIG_TABLE, ({ keyId }) => typeof keyId === 'string')
}
