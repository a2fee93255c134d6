import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { decodeRecord, encodeRecord } from '../../domain/store/json-record.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

/** Table of a namespace, whose database it is. */
export const TABLE = 'config'
/** What keys begin with of what counts now. */
export const NOW = 'now/'
/** Record that says which versions there are. */
export const HEAD: string = `${NOW}head`
/** What keys of versions begin with that were before. */
const BEFORE = 'before/'

/** Digits of the highest version there can be. */
const DIGITS = 16

/** What made a version. */
export type ConfigAction = 'set' | 'delete' | 'rollback'

/** One version of a namespace. */
export interface VersionEntry {
  readonly version: number
  /** Seconds since 1970. */
  readonly timestamp: number
  /** Id of who made it; empty: nobody knows. */
  readonly account: string
  readonly action: ConfigAction
  /** What was set or deleted. */
  readonly path: string
  /** Whether what was set was to be secret. */
  readonly secret: boolean
  /** Id of the key the secrets in its record are encrypted with; absent: it has none. */
  readonly keyId?: string
}

/** What is known of a namespace. */
export interface Head {
  /** Id of the key for its secrets; absent: it never had any. */
  readonly keyId?: string
  /** Oldest first; the last is what counts. One at least. */
  readonly versions: readonly VersionEntry[]
}

/** Which key the secrets of all namespaces are encrypted with. */
export interface KeyNote {
  readonly keyId: string
  /** Whether there may be versions no head knows, left behind by a change of keys. */
  readonly untidy: boolean
}

/** Where the {@link KeyNote} is. */
export const KEY_NOTE: { readonly table: StoreTable; readonly key: string } = {
  table: toTable(DEFAULT_NAMESPACE),
  key: 'key',
}

export function toTable(namespace: string): StoreTable {
  return { database: namespace, table: TABLE }
}

/** Record of the tree that counts. Encrypted anew, it is another record, as those of versions are. */
export function toTreeKey({ keyId }: Pick<VersionEntry, 'keyId'>): string {
  return withKeyId(`${NOW}tree`, keyId)
}

/** Record of a version that was before: the patch that makes it of the next one. */
export function toPatchKey({ version, keyId }: Pick<VersionEntry, 'version' | 'keyId'>): string {
  return withKeyId(`${BEFORE}${String(version).padStart(DIGITS, '0')}`, keyId)
}

/** The records of all versions, in their order. */
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
    TABLE,
    ({ versions }) => Array.isArray(versions) && versions.length > 0,
  )
}

export function formatKeyNote(note: KeyNote): Buffer {
  return encodeRecord(note)
}

/** @throws {GatewayError} 500 */
export function parseKeyNote(record: StoreRecord): KeyNote {
  return decodeRecord<KeyNote>(record, TABLE, ({ keyId }) => typeof keyId === 'string')
}
