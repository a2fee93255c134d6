import type { Maybe } from '../../lib/async/maybe.ts'
import type { GatewayError } from '../errors.ts'

/** Where records lie: services have one table each, namespaces a database each (specification: Store record). */
export interface StoreTable {
  readonly database: string
  readonly table: string
}

/** What is kept under a key (specification: Store record). */
export interface StoreRecord {
  /** Well-formed, 1 to 1024 bytes of UTF-8, none of them NUL. */
  readonly key: string
  /** Not to be changed by whoever reads it. */
  readonly value: Uint8Array
  readonly metadata: Readonly<Record<string, string>>
  /** When it ends, milliseconds since 1970; 0: never. */
  readonly expiresMs: number
  /** Higher with every write of the key, also of one that was deleted in between; from 1 on, a safe integer. */
  readonly version: number
}

/** Which records of a table to read, in the order of their keys' UTF-8 bytes. */
export interface StoreRange {
  /** First key, itself included; absent: from the start. It may end in NUL. */
  readonly from?: string
  /** Where to stop, itself excluded; absent: at the end. It may end in NUL. */
  readonly to?: string
  /** From the end of the range to its start. */
  readonly reverse?: boolean
  /** Most records, from 1 on. */
  readonly limit: number
  /** Bytes of values after which no further record is read; one is, however long. */
  readonly maxBytes: number
  /** Leaves `value` and `metadata` empty, and does not read them. */
  readonly keysOnly?: boolean
}

/** Part of a range. */
export interface StoreSlice {
  readonly records: readonly StoreRecord[]
  /** Whether there may be records of the range behind the last one. */
  readonly more: boolean
}

/** Which tables to list, in order: by database, then by name. */
export interface StoreTableRange {
  /** Only those of this one. */
  readonly database?: string
  /** Where to begin, itself left out; it need not be there. */
  readonly after?: StoreTable
  /** Most tables, from 1 on. */
  readonly limit: number
}

/** A record to write, or with `value` undefined a key to delete. */
export interface StoreChange {
  readonly table: StoreTable
  readonly key: string
  /** The caller keeps its hands off it from now on. */
  readonly value: Uint8Array | undefined
  readonly metadata: Readonly<Record<string, string>>
  /** As in {@link StoreRecord}. */
  readonly expiresMs: number
  /** The version the record must have for this to happen; 0: there must be none; undefined: whatever is there. */
  readonly ifVersion: number | undefined
}

/** Changes of which all happen or none, in whatever tables they are. A key is named once in it. */
export type StoreGroup = readonly StoreChange[]

/** Why nothing of a group happened. */
export interface StoreConflict {
  /** Which change of the group had a condition that does not hold: the first. */
  readonly index: number
  /** What is there: the version, 0 for none. */
  readonly version: number
}

/**
 * What became of a group: of each change the version it wrote or, deleted, of the record it removed, expired or not (0: there was
 * none); or why nothing of it happened, as an error where there is no room for it (507).
 */
export type StoreOutcome = readonly number[] | StoreConflict | GatewayError

/** A change somebody made. */
export interface StoreEvent {
  readonly type: 'write' | 'delete'
  readonly table: StoreTable
  readonly key: string
}

/** Who is told of changes. Neither of them throws. */
export interface StoreListener {
  /** After the change can be read. Changes of one key come in their order. */
  readonly onEvent: (event: StoreEvent) => void
  /** Changes may have been missed. */
  readonly onMissedEvents: () => void
}

/** A key that was purged. */
export type StorePlace = Pick<StoreEvent, 'table' | 'key'>

/**
 * Keeps records. Adapters store and tell in order; limits, prefixes, pages, expiry and who may wait how long belong
 * to what stands in front of each of them, `domain/store/store.ts`. It alone calls them, and has checked what they get.
 *
 * Expired records are records to them, until they are purged, except where `nowMs` is given. Whatever fails is thrown as
 * `domain/store/errors.ts` has it: full (507), or not to be reached (503).
 */
export interface StoreAdapter {
  readonly name: string
  /** The record of a key. */
  readonly read: (table: StoreTable, key: string) => Maybe<StoreRecord | undefined>
  readonly scan: (table: StoreTable, range: StoreRange) => Maybe<StoreSlice>
  /**
   * Makes groups of changes happen, in their order, each as a whole or not at all. Settles when they are as durable as the
   * adapter promises, and is not called again before; then they can be read. When it rejects, none of them counts as done.
   *
   * @param nowMs to a condition, a record with an `expiresMs` from 1 to this is none.
   */
  readonly commit: (groups: readonly StoreGroup[], nowMs: number) => Maybe<readonly StoreOutcome[]>
  /** The tables that have records; found from one to the next, however many records each has. */
  readonly listTables: (range: StoreTableRange) => Maybe<readonly StoreTable[]>
  /**
   * Tells of all changes, whoever made them and also those that {@link purge} made, until the function that is returned is
   * called. An adapter nobody else writes to has none: what stands in front knows what it did.
   */
  readonly watch?: (listener: StoreListener) => Maybe<() => Maybe<void>>
  /** Deletes records that have expired by `nowMs`, `limit` at most, oldest first, and says which. Absent: it does so by itself. */
  readonly purge?: (nowMs: number, limit: number) => Maybe<readonly StorePlace[]>
  /** Waits for the commit under way, then releases files and connections. */
  readonly close?: () => Maybe<void>
}
