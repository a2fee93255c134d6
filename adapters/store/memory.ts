import type {
  StoreAdapter,
  StoreChange,
  StoreGroup,
  StoreKey,
  StoreOutcome,
  StoreRecord,
  StoreTable,
} from '../../core/contracts/store.ts'
import {
  findLack,
  type GroupCheck,
  NO_STORE_QUOTAS,
  type StoreArea,
  type StoreQuotas,
  toArea,
} from '../../domain/store/usage.ts'
import { createSortedKeys, type SortedKeys } from './memory/sorted-keys.ts'

export interface MemoryStoreOptions {
  /**
   * Approximate memory limit of records in bytes; writes beyond it fail with 507. An additional
   * sixteenth is reserved for accounts, rules, certificates and runtime objects.
   *
   * @default 268435456
   */
  readonly maxBytes?: number
  /** @default no limits */
  readonly quotas?: StoreQuotas
}

interface MemoryTable {
  readonly table: StoreTable
  readonly records: Map<string, StoreRecord>
  readonly keys: SortedKeys
}

/** Approximate overhead of a record in memory. */
const RECORD_BYTES = 300
const NO_BYTES = new Uint8Array(0)
const NO_METADATA = {}

/** Stores records in the memory of this process. */
export function createMemoryStore({
  maxBytes = 256 * 1024 * 1024,
  quotas = NO_STORE_QUOTAS,
}: MemoryStoreOptions = {}): StoreAdapter {
  /** Tables by database and name, joined with NUL. There are no empty tables. */
  const tables = new Map<string, MemoryTable>()
  /** Sorted table names. */
  const names = createSortedKeys()
  /** Expiring records, sorted by time, table and key. */
  const expiring = createSortedKeys()
  let lastVersion = 0
  let usedBytes = 0
  const usage = new Map<StoreArea, number>()

  function open(table: StoreTable): MemoryTable {
    const name = toName(table)
    let found = tables.get(name)
    if (found === undefined) {
      found = { table, records: new Map(), keys: createSortedKeys() }
      tables.set(name, found)
      names.add(name)
    }
    return found
  }

  function versionOf({ table, key }: StoreChange, nowMs: number): number {
    const record = tables.get(toName(table))?.records.get(key)
    return record === undefined || isExpired(record, nowMs) ? 0 : record.version
  }

  function count(table: StoreTable, bytes: number): void {
    usedBytes += bytes
    const area = toArea(table)
    const used = (usage.get(area) ?? 0) + bytes
    if (used === 0) usage.delete(area)
    else usage.set(area, used)
  }

  function remove({ table, key }: StoreKey): number {
    const name = toName(table)
    const found = tables.get(name)
    const record = found?.records.get(key)
    if (found === undefined || record === undefined) return 0
    found.records.delete(key)
    count(found.table, -toBytes(record))
    found.keys.delete(key)
    if (record.expiresMs > 0) expiring.delete(toExpiring(name, record))
    if (found.records.size === 0) {
      tables.delete(name)
      names.delete(name)
    }
    return record.version
  }

  function write({ table, key, value, metadata, expiresMs }: StoreChange): number {
    const { records, keys } = open(table)
    const old = records.get(key)
    const record = { key, value: value!, metadata, expiresMs, version: ++lastVersion }
    records.set(key, record)
    count(table, toBytes(record) - (old === undefined ? 0 : toBytes(old)))
    if (old === undefined) keys.add(key)
    const name = toName(table)
    if (old !== undefined && old.expiresMs > 0) expiring.delete(toExpiring(name, old))
    if (expiresMs > 0) expiring.add(toExpiring(name, record))
    return record.version
  }

  const check: Omit<GroupCheck, 'isLow'> = {
    quotas,
    usedOf: (area) => usage.get(area) ?? 0,
    sizeOf: ({ key, value, metadata }) => toBytes({ key, value: value!, metadata }),
    sizeBefore({ table, key }) {
      const old = tables.get(toName(table))?.records.get(key)
      return old === undefined ? 0 : toBytes(old)
    },
  }

  function commitGroup(group: StoreGroup, nowMs: number): StoreOutcome {
    for (const [index, change] of group.entries()) {
      if (change.ifVersion === undefined) continue
      const version = versionOf(change, nowMs)
      if (version !== change.ifVersion) return { index, version }
    }
    const lack = findLack(group, check, usedBytes, maxBytes)
    if (lack !== undefined) return lack
    return group.map((change) => (change.value === undefined ? remove(change) : write(change)))
  }

  return {
    name: 'memory',

    read: (table, key) => tables.get(toName(table))?.records.get(key),

    scan(table, { from, to, reverse = false, limit, maxBytes, keysOnly }) {
      const found = tables.get(toName(table))
      const records: StoreRecord[] = []
      if (found === undefined) return { records, more: false }
      let bytes = 0
      for (const key of found.keys.walk(from, to, reverse)) {
        if (records.length === limit || bytes >= maxBytes) return { records, more: true }
        const record = found.records.get(key)!
        if (keysOnly === true) records.push({ ...record, value: NO_BYTES, metadata: NO_METADATA })
        else {
          records.push(record)
          bytes += record.value.length
        }
      }
      return { records, more: false }
    },

    commit: (groups, nowMs) => groups.map((group) => commitGroup(group, nowMs)),

    listTables({ database, after, limit }) {
      const found: StoreTable[] = []
      const first = database === undefined ? undefined : `${database}\0`
      const end = database === undefined ? undefined : `${database}\u0001`
      const from = after === undefined ? first : `${toName(after)}\0`
      for (const name of names.walk(from, end, false)) {
        if (found.length === limit) break
        found.push(tables.get(name)!.table)
      }
      return found
    },

    purge(nowMs, limit) {
      const purged: StoreKey[] = []
      for (const name of expiring.walk(undefined, toTime(nowMs + 1), false)) {
        if (purged.length === limit) break
        const [, database = '', table = '', key = ''] = name.split('\0')
        purged.push({ table: { database, table }, key })
      }
      for (const recordKey of purged) remove(recordKey)
      return purged
    },

    close() {
      tables.clear()
    },
  }
}

function isExpired({ expiresMs }: StoreRecord, nowMs: number): boolean {
  return expiresMs > 0 && expiresMs <= nowMs
}

function toBytes({
  key,
  value,
  metadata,
}: Pick<StoreRecord, 'key' | 'value' | 'metadata'>): number {
  let chars = key.length
  for (const name in metadata) chars += name.length + metadata[name]!.length
  return RECORD_BYTES + chars + value.length
}

function toName({ database, table }: StoreTable): string {
  return `${database}\0${table}`
}

function toExpiring(name: string, { expiresMs, key }: StoreRecord): string {
  return `${toTime(expiresMs)}\0${name}\0${key}`
}

/** Returns the time as padded text, so that times sort correctly. */
function toTime(ms: number): string {
  return String(ms).padStart(16, '0')
}
