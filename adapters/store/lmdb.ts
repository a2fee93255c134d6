import type {
  StoreAdapter,
  StoreChange,
  StoreGroup,
  StoreOutcome,
  StorePlace,
  StoreRange,
  StoreRecord,
  StoreTable,
} from '../../core/contracts/store.ts'
import { openEnvironment } from '../../core/lmdb/environment.ts'
import { isFull } from '../../core/lmdb/is-full.ts'
import { storeAway, storeFull } from '../../core/store/errors.ts'
import {
  ALL,
  fromExpiryKey,
  parseKey,
  toDatabaseBounds,
  toExpiryKey,
  toKey,
  toTableEnd,
} from './lmdb/keys.ts'
import { formatRecord, parseHead, parseRecord, type RecordHead } from './lmdb/record-bytes.ts'

export interface LmdbStoreOptions {
  /** Where the file lies; made where it is missing, for its owner alone. One process at a time may have it open. */
  readonly folder: string
  /**
   * What an acknowledged write has reached: `os`, the operating system, which writes it to the disk soon: it survives
   * the end of the process, however sudden; `always`, the disk: it survives that of the machine. Whatever ends when,
   * the file is as it was after some write. @default 'os'
   */
  readonly sync?: 'always' | 'os'
  /** Told in a line when it cannot be written any more, as for want of room, and when it can again. @default process.emitWarning */
  readonly onWarning?: (message: string) => void
}

const LAST_VERSION = Buffer.from('last version')
const NOTHING = Buffer.alloc(0)

/**
 * Keeps records in a file (LMDB): a B-tree that is read without being copied, and that every write leaves whole.
 *
 * @throws {Error} when the folder cannot be used.
 */
export function createLmdbStore(options: LmdbStoreOptions): StoreAdapter {
  const { folder, sync = 'os', onWarning } = options
  const { openTable, openTextTable, transact, close } = openEnvironment(folder, {
    what: 'the store',
    isFlushed: sync === 'always',
    ...(onWarning && { onWarning }),
  })
  /** By `keys.ts`. */
  const records = openTextTable('records')
  /** What expires, by time, with nothing behind it. */
  const expiries = openTable('expiries')
  /** What the store remembers of itself. */
  const notes = openTable('notes')
  let lastVersion = notes.get(LAST_VERSION)?.readDoubleLE() ?? 0
  let committing: Promise<unknown> = Promise.resolve()
  let isClosed = false

  const findHead = (key: string): RecordHead | undefined => {
    const bytes = records.getBinaryFast(key)
    return bytes === undefined ? undefined : parseHead(bytes)
  }

  function write(key: string, { value, metadata, expiresMs }: StoreChange): number {
    const version = ++lastVersion
    forgetExpiry(key, findHead(key))
    void records.put(key, formatRecord({ value: value!, metadata, expiresMs, version }))
    if (expiresMs > 0) void expiries.put(toExpiryKey(expiresMs, key), NOTHING)
    return version
  }

  function remove(key: string): number {
    const head = findHead(key)
    if (head === undefined) return 0
    forgetExpiry(key, head)
    void records.remove(key)
    return head.version
  }

  function forgetExpiry(key: string, head: RecordHead | undefined): void {
    if (head !== undefined && head.expiresMs > 0)
      void expiries.remove(toExpiryKey(head.expiresMs, key))
  }

  function commitGroup(group: StoreGroup, nowMs: number): StoreOutcome {
    for (let index = 0; index < group.length; index++) {
      const { table, key, ifVersion } = group[index]!
      if (ifVersion === undefined) continue
      const version = toVersion(findHead(toKey(table, key)), nowMs)
      if (version !== ifVersion) return { index, version }
    }
    return group.map(commitChange)
  }

  function commitChange(change: StoreChange): number {
    const key = toKey(change.table, change.key)
    return change.value === undefined ? remove(key) : write(key, change)
  }

  /** Runs changes; what fails is told as callers should have it. */
  async function change<T>(run: () => T): Promise<T> {
    const done = transact(() => {
      const before = lastVersion
      const result = run()
      if (lastVersion !== before) void notes.put(LAST_VERSION, toBytes(lastVersion))
      return result
    })
    committing = done.catch(() => {})
    try {
      return await done
    } catch (error) {
      throw isFull(error, folder) ? storeFull(error) : storeAway(error)
    }
  }

  return {
    name: 'lmdb',

    read(table, key) {
      const bytes = records.getBinaryFast(toKey(table, key))
      return bytes === undefined ? undefined : parseRecord(key, bytes, bytes.length)
    },

    scan(table, range) {
      const ownAt = toKey(table, '').length
      const found: StoreRecord[] = []
      let bytes = 0
      for (const { key, value } of records.getRange(toBounds(table, range))) {
        if (found.length === range.limit || bytes >= range.maxBytes)
          return { records: found, more: true }
        found.push(parseRecord(key.slice(ownAt), value, value.length, range.keysOnly))
        bytes += value.length
      }
      return { records: found, more: false }
    },

    commit: (groups, nowMs) => change(() => groups.map((group) => commitGroup(group, nowMs))),

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
        const purged: StorePlace[] = []
        const notes = [...expiries.getKeys({ end: toExpiryKey(nowMs + 1, ''), limit })]
        for (const note of notes) {
          const key = fromExpiryKey(note)
          void expiries.remove(note)
          void records.remove(key)
          purged.push(parseKey(key))
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

function toVersion(head: RecordHead | undefined, nowMs: number): number {
  if (head === undefined || (head.expiresMs > 0 && head.expiresMs <= nowMs)) return 0
  return head.version
}

/** A range as LMDB goes through it: backwards, its start is its end. */
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
