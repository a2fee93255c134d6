import type {
  StoreAdapter,
  StoreChange,
  StoreGroup,
  StoreListener,
  StoreOutcome,
  StoreRecord,
  StoreTable,
} from '../../core/contracts/store.ts'
import { GatewayError } from '../../core/errors.ts'
import { isOutage } from '../../core/is-outage.ts'
import { createGroupCommit } from '../../lib/async/batcher.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import {
  checkApart,
  checkChange,
  checkKey,
  checkName,
  checkPart,
  checkQuery,
  checkTable,
  show,
} from './checks.ts'
import { storeError } from './errors.ts'
import { readPage, type StorePage, type StoreQuery } from './page.ts'
import { startPurge } from './purge.ts'
import {
  listDatabases,
  listTables,
  type StoreDatabaseQuery,
  type StoreTableQuery,
} from './tables.ts'
import { createStoreWatchers } from './watchers.ts'

export interface StoreOptions {
  /** Maximum length of a value in bytes, at most 8 MiB. @default 1048576 */
  readonly maxValueBytes?: number
  /**
   * Maximum size of pending writes in bytes; further writes are rejected with 503.
   *
   * @default 67108864
   */
  readonly maxWaitingBytes?: number
  /** Interval in milliseconds between deletions of expired records. @default 1000 */
  readonly purgeMs?: number
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
  /**
   * Called if expired records cannot be deleted, except if the store is unavailable or full.
   *
   * @default a process warning
   */
  readonly onError?: (error: unknown) => void
}

/** A record to write, or a key to delete if `value` is absent. */
export interface StoreWrite {
  readonly table: StoreTable
  readonly key: string
  /** Must not be modified afterwards. */
  readonly value?: Uint8Array
  /** Must not be modified afterwards. @default none */
  readonly metadata?: Readonly<Record<string, string>>
  /** Expiry, Unix time in milliseconds; 0 if the record never expires. @default 0 */
  readonly expiresMs?: number
  /** Expected version; 0 if the record must not exist. @default any version */
  readonly ifVersion?: number
  /**
   * Whether the write may use the reserve of a full store, provided that its table may. Must be
   * false for writes on behalf of tenants, because the reserve is for operators.
   *
   * @default true
   */
  readonly mayUseReserve?: boolean
}

/**
 * A store that adds validation, expiry and limits to an adapter.
 *
 * Methods throw or reject with `GatewayError`: 400 with the invalid input, 409 if a condition is
 * not met, 503 if the store is closed, unavailable or overloaded, 507 if it is full.
 */
export interface Store {
  readonly name: string
  readonly maxValueBytes: number
  /** Returns the record with a key, or undefined if it does not exist. */
  readonly read: (table: StoreTable, key: string) => Maybe<StoreRecord | undefined>
  /**
   * Returns records in the order of their keys' UTF-8 bytes, at most 1000 records and about 8 MiB
   * at a time.
   *
   * @param signal aborts the call; the promise rejects with its reason.
   */
  readonly list: (table: StoreTable, query?: StoreQuery, signal?: AbortSignal) => Promise<StorePage>
  /**
   * Writes and deletes records atomically. Each key may occur only once. Resolves once the changes
   * are as durable as the adapter guarantees.
   *
   * @returns the new version of each record. For a deletion, the deleted version, or 0 if the
   * record did not exist.
   */
  readonly commit: (writes: readonly StoreWrite[]) => Promise<readonly number[]>
  /** Returns the tables with records in order; all of them if there is no limit. */
  readonly listTables: (
    query?: StoreTableQuery,
    signal?: AbortSignal,
  ) => Promise<readonly StoreTable[]>
  /** Returns the databases with records in order; all of them if there is no limit. */
  readonly listDatabases: (
    query?: StoreDatabaseQuery,
    signal?: AbortSignal,
  ) => Promise<readonly string[]>
  /**
   * Reports changes to keys that start with `prefix`, including expiry, from the time the promise
   * resolves until the returned function is called. The listener must not throw.
   */
  readonly watch: (
    table: StoreTable,
    prefix: string,
    listener: StoreListener,
  ) => Promise<() => void>
  /** Rejects further calls, waits for pending writes, then closes the adapter. */
  readonly close: () => Promise<void>
}

/** Upper limit for values, because a page must have space for at least one record. */
const MAX_VALUE_BYTES = 8 * 1024 * 1024
/** Approximate overhead of a change in bytes, in addition to its key, value and metadata. */
const CHANGE_BYTES = 200
const NO_METADATA = {}
const NOTHING: Promise<readonly number[]> = Promise.resolve([])

/** Wraps an adapter, which it owns, with the behavior that all stores share. */
export function createStore(adapter: StoreAdapter, options: StoreOptions = {}): Store {
  const { maxWaitingBytes, purgeMs = 1000, nowMs = Date.now, onError = warn } = options
  const maxValueBytes = Math.min(options.maxValueBytes ?? 1024 * 1024, MAX_VALUE_BYTES)
  const queue = createGroupCommit<StoreGroup, readonly number[]>({
    commit: async (groups) => {
      const outcomes = await adapter.commit(groups, nowMs())
      return outcomes.map((outcome, i) => conclude(groups[i]!, outcome))
    },
    sizeOf,
    countOf: (group) => group.length,
    toOverflowError: () => storeError(503, 'too many pending writes'),
    ...(maxWaitingBytes !== undefined && { maxWaitingBytes }),
  })
  const watchers = createStoreWatchers()
  const stopPurge = startPurge(adapter, {
    everyMs: purgeMs,
    nowMs,
    onError: (error) => isOutage(error) || onError(error),
    onPurged: (keys) => {
      if (adapter.watch !== undefined) return
      for (const { table, key } of keys) watchers.onEvent({ type: 'delete', table, key })
    },
  })
  let watching: Promise<() => Maybe<void>> | undefined
  let closing: Promise<void> | undefined

  const exists = ({ expiresMs }: StoreRecord): boolean => expiresMs === 0 || expiresMs > nowMs()
  const ifExists = (record: StoreRecord | undefined): StoreRecord | undefined =>
    record !== undefined && exists(record) ? record : undefined

  function checkOpen(): void {
    if (closing !== undefined) throw storeError(503, 'the store is closed')
  }

  function toChange(write: StoreWrite): StoreChange {
    const { table, key, value, metadata = NO_METADATA, expiresMs = 0, ifVersion } = write
    const { mayUseReserve } = write
    const change = { table, key, value, metadata, expiresMs, ifVersion, mayUseReserve }
    checkChange(change, maxValueBytes)
    return change
  }

  /** Returns the result of a write after its watchers have been notified. */
  function conclude(group: StoreGroup, outcome: StoreOutcome): readonly number[] | GatewayError {
    if (outcome instanceof GatewayError) return outcome
    if ('index' in outcome) return toConflict(group[outcome.index]!, outcome.version)
    if (adapter.watch === undefined && watchers.size > 0) notify(group, outcome)
    return outcome
  }

  function notify(group: StoreGroup, versions: readonly number[]): void {
    for (const [index, { table, key, value }] of group.entries()) {
      if (value !== undefined) watchers.onEvent({ type: 'write', table, key })
      else if (versions[index]! > 0) watchers.onEvent({ type: 'delete', table, key })
    }
  }

  return {
    name: adapter.name,
    maxValueBytes,

    read(table, key) {
      checkOpen()
      checkTable(table)
      checkKey(key)
      const record = adapter.read(table, key)
      return record instanceof Promise ? record.then(ifExists) : ifExists(record)
    },

    async list(table, query = {}, signal) {
      checkOpen()
      checkTable(table)
      checkQuery(query)
      return readPage(adapter, table, query, exists, signal)
    },

    commit(writes) {
      try {
        checkOpen()
        const group = writes.map(toChange)
        checkApart(group)
        return group.length === 0 ? NOTHING : queue.push(group)
      } catch (error) {
        return Promise.reject(error)
      }
    },

    async listTables(query = {}, signal) {
      checkOpen()
      if (query.database !== undefined) checkName('database', query.database)
      return listTables(adapter, query, signal)
    },

    async listDatabases(query = {}, signal) {
      checkOpen()
      return listDatabases(adapter, query, signal)
    },

    async watch(table, prefix, listener) {
      checkOpen()
      checkTable(table)
      checkPart('prefix', prefix)
      if (adapter.watch !== undefined) {
        watching ??= Promise.resolve(adapter.watch(watchers))
        try {
          await watching
        } catch (error) {
          watching = undefined
          throw error
        }
      }
      return watchers.add(table, prefix, listener)
    },

    close() {
      closing ??= (async () => {
        await queue.drained()
        await stopPurge()
        const stop = await watching?.catch(() => undefined)
        await stop?.()
        await adapter.close?.()
      })()
      return closing
    },
  }
}

function sizeOf(group: StoreGroup): number {
  let size = 0
  for (const { key, value, metadata } of group) {
    size += CHANGE_BYTES + key.length + (value?.length ?? 0)
    for (const name in metadata) size += name.length + metadata[name]!.length
  }
  return size
}

function toConflict({ key, ifVersion }: StoreChange, version: number): GatewayError {
  const actual = version === 0 ? 'does not exist' : `has version ${version}`
  const expected = ifVersion === 0 ? 'must not exist' : `must have version ${ifVersion}`
  return storeError(409, `key ${show(key)} ${expected}, but ${actual}`)
}

function warn(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error)
  process.emitWarning(`expired records of the store cannot be deleted: ${reason}`)
}
