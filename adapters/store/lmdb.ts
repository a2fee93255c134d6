import type {
  StoreAdapter,
  StoreChange,
  StoreGroup,
  StoreKey,
  StoreOutcome,
  StoreRange,
  StoreRecord,
  StoreTable,
} from '../../core/contracts/store.ts'
import { isDiskFull } from '../../domain/lmdb/disk-space.ts'
import { openEnvironment } from '../../domain/lmdb/environment.ts'
import { createReserve } from '../../domain/lmdb/reserve.ts'
import { storeFull, storeUnavailable } from '../../domain/store/errors.ts'
import {
  findExcess,
  type GroupCheck,
  NO_STORE_QUOTAS,
  RECORD_OVERHEAD_BYTES,
  type StoreArea,
  type StoreQuotas,
  toArea,
} from '../../domain/store/usage.ts'
import {
  ALL,
  fromExpiryKey,
  parseKey,
  toDatabaseBounds,
  toExpiryKey,
  toKey,
  toTableEnd,
} from './lmdb/keys.ts'
import {
  formatRecord,
  parseHead,
  parseRecord,
  type RecordHead,
  toRecordLength,
} from './lmdb/record-bytes.ts'

export interface LmdbStoreOptions {
  /**
   * Folder of the database file, created with access for its owner only. Only one process may use
   * it at a time.
   */
  readonly folder: string
  /**
   * When a write is acknowledged: `os` (survives a process crash) or `always` (fsync, survives a
   * power failure). The file stays consistent in both modes.
   *
   * @default 'os'
   */
  readonly sync?: 'always' | 'os'
  /**
   * Called when writes start to fail, for example because the disk is full, and when they succeed
   * again.
   *
   * @default process.emitWarning
   */
  readonly onWarning?: (message: string) => void
  /** @default no limits */
  readonly quotas?: StoreQuotas
}

const LAST_VERSION = Buffer.from('last version')
const NOTHING = Buffer.alloc(0)
/**
 * Marks a file that contains usage counters. The counter of each area is prefixed with {@link
 * USAGE}.
 */
const COUNTED = Buffer.from('counted')
const USAGE = 'usage '
/** Page size of the B-tree. A change may copy a page. */
const PAGE_BYTES = 4096

/**
 * Stores records in an LMDB file: a memory-mapped B-tree with atomic writes.
 *
 * @throws {Error} if the folder cannot be used.
 */
export function createLmdbStore(options: LmdbStoreOptions): StoreAdapter {
  const { folder, sync = 'os', onWarning, quotas = NO_STORE_QUOTAS } = options
  const environment = openEnvironment(folder, {
    what: 'the store',
    isFlushed: sync === 'always',
    ...(onWarning && { onWarning }),
  })
  const { openTable, openTextTable, transact, close } = environment
  const reserve = createReserve({
    what: 'the store',
    folder,
    readFreeBytes: environment.readFreeBytes,
    onWarning: onWarning ?? ((message) => process.emitWarning(message)),
  })
  /** Keys are defined in `keys.ts`. */
  const records = openTextTable('records')
  /** Expiring records by time. Entries have no values. */
  const expiries = openTable('expiries')
  /** State of the store itself. */
  const meta = openTable('notes')
  let lastVersion = meta.get(LAST_VERSION)?.readDoubleLE() ?? 0
  let committing: Promise<unknown> = Promise.resolve()
  let isClosed = false

  /** Usage in bytes by area, as read in the current transaction. */
  const usage = new Map<StoreArea, number>()
  let isCounted = meta.get(COUNTED) !== undefined

  function usedOf(area: StoreArea): number {
    const known = usage.get(area)
    if (known !== undefined) return known
    const used = meta.get(toUsageKey(area))?.readDoubleLE() ?? 0
    usage.set(area, used)
    return used
  }

  function count(table: StoreTable, bytes: number): void {
    const area = toArea(table)
    usage.set(area, usedOf(area) + bytes)
  }

  /** Counts the records of a file written by a version without usage counters. */
  function countAll(): void {
    for (const { key, value } of records.getRange({ start: ALL[0], end: ALL[1] }))
      count(parseKey(key).table, toSize(key, value.length))
    void meta.put(COUNTED, NOTHING)
    isCounted = true
  }

  const findHead = (key: string): RecordHead | undefined => {
    const bytes = records.getBinaryFast(key)
    return bytes === undefined ? undefined : parseHead(bytes)
  }

  const check: Omit<GroupCheck, 'isLow'> = {
    quotas,
    usedOf,
    sizeOf: ({ table, key, value, metadata }) =>
      toSize(toKey(table, key), toRecordLength({ value: value!, metadata })),
    sizeBefore({ table, key }) {
      const name = toKey(table, key)
      return sizeOfHead(name, findHead(name))
    },
  }

  function write(key: string, { table, value, metadata, expiresMs }: StoreChange): number {
    const version = ++lastVersion
    const head = findHead(key)
    removeExpiry(key, head)
    const bytes = formatRecord({ value: value!, metadata, expiresMs, version })
    void records.put(key, bytes)
    count(table, toSize(key, bytes.length) - sizeOfHead(key, head))
    if (expiresMs > 0) void expiries.put(toExpiryKey(expiresMs, key), NOTHING)
    return version
  }

  function remove(key: string, table: StoreTable): number {
    const head = findHead(key)
    if (head === undefined) return 0
    removeExpiry(key, head)
    void records.remove(key)
    count(table, -sizeOfHead(key, head))
    return head.version
  }

  function removeExpiry(key: string, head: RecordHead | undefined): void {
    if (head !== undefined && head.expiresMs > 0)
      void expiries.remove(toExpiryKey(head.expiresMs, key))
  }

  function commitGroup(group: StoreGroup, nowMs: number, isLow: boolean): StoreOutcome {
    for (let index = 0; index < group.length; index++) {
      const { table, key, ifVersion } = group[index]!
      if (ifVersion === undefined) continue
      const version = toVersion(findHead(toKey(table, key)), nowMs)
      if (version !== ifVersion) return { index, version }
    }
    return findExcess(group, isLow ? { ...check, isLow } : check) ?? group.map(commitChange)
  }

  function commitChange(change: StoreChange): number {
    const key = toKey(change.table, change.key)
    return change.value === undefined ? remove(key, change.table) : write(key, change)
  }

  /** Runs changes in a transaction and converts errors. */
  async function change<T>(run: () => T): Promise<T> {
    const done = transact(() => {
      const before = lastVersion
      usage.clear()
      if (!isCounted) countAll()
      const result = run()
      if (lastVersion !== before) void meta.put(LAST_VERSION, toBytes(lastVersion))
      for (const [area, bytes] of usage) void meta.put(toUsageKey(area), toBytes(bytes))
      return result
    })
    committing = done.catch(() => {})
    try {
      return await done
    } catch (error) {
      isCounted = meta.get(COUNTED) !== undefined
      throw isDiskFull(error, folder) ? storeFull(error) : storeUnavailable(error)
    }
  }

  return {
    name: 'lmdb',

    read(table, key) {
      const bytes = records.getBinaryFast(toKey(table, key))
      return bytes === undefined ? undefined : parseRecord(key, bytes, bytes.length)
    },

    scan(table, range) {
      const prefixLength = toKey(table, '').length
      const found: StoreRecord[] = []
      let bytes = 0
      for (const { key, value } of records.getRange(toBounds(table, range))) {
        if (found.length === range.limit || bytes >= range.maxBytes)
          return { records: found, more: true }
        found.push(parseRecord(key.slice(prefixLength), value, value.length, range.keysOnly))
        bytes += value.length
      }
      return { records: found, more: false }
    },

    commit(groups, nowMs) {
      const isLow = reserve.isLow(() => toMaxBytes(groups))
      return change(() => groups.map((group) => commitGroup(group, nowMs, isLow)))
    },

    listTables({ database, after, limit }) {
      const tables: StoreTable[] = []
      const [first, end] = database === undefined ? ALL : toDatabaseBounds(database)
      let start = after === undefined ? first : toTableEnd(after)
      while (tables.length < limit) {
        const [key] = records.getKeys({ start, end, limit: 1 })
        if (key === undefined) break
        const { table } = parseKey(key)
        tables.push(table)
        start = toTableEnd(table)
      }
      return tables
    },

    purge: (nowMs, limit) =>
      change(() => {
        const purged: StoreKey[] = []
        const expired = [...expiries.getKeys({ end: toExpiryKey(nowMs + 1, ''), limit })]
        for (const expiryKey of expired) {
          const key = fromExpiryKey(expiryKey)
          const recordKey = parseKey(key)
          void expiries.remove(expiryKey)
          count(recordKey.table, -sizeOfHead(key, findHead(key)))
          void records.remove(key)
          purged.push(recordKey)
        }
        return purged
      }),

    async close() {
      if (isClosed) return
      isClosed = true
      await committing
      await close()
    },
  }
}

function toUsageKey(area: StoreArea): Buffer {
  return Buffer.from(USAGE + area)
}

/** Returns the size of a record in bytes, as counted by quotas. */
function toSize(key: string, length: number): number {
  return RECORD_OVERHEAD_BYTES + key.length + length
}

/** See {@link toSize}; returns 0 if there is no record. */
function sizeOfHead(key: string, head: RecordHead | undefined): number {
  return head === undefined ? 0 : toSize(key, head.length)
}

/** Returns the maximum growth of the file in bytes when the groups are written. */
function toMaxBytes(groups: readonly StoreGroup[]): number {
  let bytes = 0
  for (const group of groups)
    for (const { value } of group) bytes += PAGE_BYTES + (value?.length ?? 0)
  return bytes
}

function toVersion(head: RecordHead | undefined, nowMs: number): number {
  if (head === undefined || (head.expiresMs > 0 && head.expiresMs <= nowMs)) return 0
  return head.version
}

/** Converts a range for LMDB, which swaps start and end for reverse scans. */
function toBounds(table: StoreTable, { from = '', to, reverse = false }: StoreRange) {
  const low = toKey(table, from)
  const high = to === undefined ? toTableEnd(table) : toKey(table, to)
  return reverse
    ? { start: high, end: low, reverse, exclusiveStart: true, inclusiveEnd: true }
    : { start: low, end: high }
}

function toBytes(version: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeDoubleLE(version)
  return bytes
}
