import type { Maybe } from '../../lib/async/maybe.ts'
import type { GatewayError } from '../errors.ts'

/** Location of records: a table per service in a database per namespace (specification: Store record). */
export interface StoreTable {
  readonly database: string
  readonly table: string
}

/** Stored value of a key (specification: Store record). */
export interface StoreRecord {
  /** 1 to 1024 bytes of valid UTF-8 without NUL. */
  readonly key: string
  /** Readers must not change it. */
  readonly value: Uint8Array
  readonly metadata: Readonly<Record<string, string>>
  /** Expiry in milliseconds since 1970; 0 if it never expires. */
  readonly expiresMs: number
  /** Increases with every write of the key, even across deletions; at least 1, a safe integer. */
  readonly version: number
}

/** Range of records of a table, ordered by the UTF-8 bytes of their keys. */
export interface StoreRange {
  /** Inclusive start; may end in NUL. @default the start of the table */
  readonly from?: string
  /** Exclusive end; may end in NUL. @default the end of the table */
  readonly to?: string
  /** Reads in descending order. */
  readonly reverse?: boolean
  /** Maximum number of records, at least 1. */
  readonly limit: number
  /** Maximum total bytes of values. Reading stops once the limit is reached, after at least one record. */
  readonly maxBytes: number
  /** Leaves `value` and `metadata` empty and does not read them. */
  readonly keysOnly?: boolean
}

/** A page of a range. */
export interface StoreSlice {
  readonly records: readonly StoreRecord[]
  /** Whether the range may contain further records. */
  readonly more: boolean
}

/** Range of tables, ordered by database, then by name. */
export interface StoreTableRange {
  readonly database?: string
  /** Exclusive start; need not exist. */
  readonly after?: StoreTable
  /** Maximum number of tables, at least 1. */
  readonly limit: number
}

/** A record to write, or a key to delete if `value` is undefined. */
export interface StoreChange {
  readonly table: StoreTable
  readonly key: string
  /** The caller must not change it afterwards. */
  readonly value: Uint8Array | undefined
  readonly metadata: Readonly<Record<string, string>>
  /** See {@link StoreRecord}. */
  readonly expiresMs: number
  /** Condition: current version of the record; 0 if the record must not exist; undefined if unconditional. */
  readonly ifVersion: number | undefined
  /** Whether the change may use reserved space when the store is full, if its table is allowed to. @default true */
  readonly mayUseReserve?: boolean | undefined
}

/** Atomic changes to any tables. Contains each key at most once. */
export type StoreGroup = readonly StoreChange[]

/** Reason why a group was not applied. */
export interface StoreConflict {
  /** First change of the group whose condition failed. */
  readonly index: number
  /** Current version; 0 if the record does not exist. */
  readonly version: number
}

/**
 * Result of a group: for each change the written version or, for a deletion, the removed version, expired or not (0 if
 * the record did not exist). Otherwise the conflict or error that prevented it, such as a full store (507).
 */
export type StoreOutcome = readonly number[] | StoreConflict | GatewayError

/** A change to a record. */
export interface StoreEvent {
  readonly type: 'write' | 'delete'
  readonly table: StoreTable
  readonly key: string
}

/** Listener for changes. Neither callback may throw. */
export interface StoreListener {
  /** Called after the change is visible to reads. Changes of one key are ordered. */
  readonly onEvent: (event: StoreEvent) => void
  /** Called when changes may have been missed. */
  readonly onMissedEvents: () => void
}

/** Key of a record and its table. */
export type StoreKey = Pick<StoreEvent, 'table' | 'key'>

/**
 * Stores records. Adapters store and notify in order. `domain/store/store.ts` handles limits, prefixes, pages, expiry
 * and timeouts. It is their only caller and validates arguments.
 *
 * Adapters treat expired records as existing until they are purged, except in methods with `nowMs`. Errors are defined
 * in `domain/store/errors.ts`: full (507) or unavailable (503).
 */
export interface StoreAdapter {
  readonly name: string
  readonly read: (table: StoreTable, key: string) => Maybe<StoreRecord | undefined>
  readonly scan: (table: StoreTable, range: StoreRange) => Maybe<StoreSlice>
  /**
   * Applies groups of changes in order, each atomically. Settles when they are visible and as durable as the adapter
   * guarantees. Must not be called again before it settles. If it rejects, all groups count as not applied.
   *
   * @param nowMs conditions treat records with an `expiresMs` from 1 to `nowMs` as missing.
   */
  readonly commit: (groups: readonly StoreGroup[], nowMs: number) => Maybe<readonly StoreOutcome[]>
  /** Lists tables with records, in a time independent of the number of records. */
  readonly listTables: (range: StoreTableRange) => Maybe<readonly StoreTable[]>
  /**
   * Reports all changes by any client and by {@link purge} until the returned function is called. Absent if no other
   * process writes to the adapter, since the caller then knows all changes.
   */
  readonly watch?: (listener: StoreListener) => Maybe<() => Maybe<void>>
  /**
   * Deletes up to `limit` records expired at `nowMs`, oldest first, and returns their keys. Absent if the adapter
   * expires records itself.
   */
  readonly purge?: (nowMs: number, limit: number) => Maybe<readonly StoreKey[]>
  /** Waits for the commit in flight, then releases files and connections. */
  readonly close?: () => Maybe<void>
}
