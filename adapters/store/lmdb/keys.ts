import type { StoreKey, StoreTable } from '../../../core/contracts/store.ts'

/** Separator, which does not occur in names or keys. */
const END = '\0'
/** The character after {@link END}. */
const AFTER_END = '\u0001'
const TIME_BYTES = 8

/** Bounds of all databases, whose names are ASCII. */
export const ALL: readonly [string, string] = [AFTER_END, '\u007f']

/**
 * Returns the key of a record: database, table and key, so that the records of a table are sorted
 * by key.
 */
export function toKey({ database, table }: StoreTable, key: string): string {
  return database + END + table + END + key
}

/** Returns the upper bound of a table. */
export function toTableEnd({ database, table }: StoreTable): string {
  return database + END + table + AFTER_END
}

export function toDatabaseBounds(database: string): readonly [string, string] {
  return [database + END, database + AFTER_END]
}

export function parseKey(text: string): StoreKey {
  const tableAt = text.indexOf(END) + 1
  const keyAt = text.indexOf(END, tableAt) + 1
  const table = { database: text.slice(0, tableAt - 1), table: text.slice(tableAt, keyAt - 1) }
  return { table, key: text.slice(keyAt) }
}

/** Returns the key of an expiry entry. Keys are sorted by time. */
export function toExpiryKey(expiresMs: number, key: string): Buffer {
  const bytes = Buffer.allocUnsafe(TIME_BYTES + Buffer.byteLength(key))
  bytes.writeBigUInt64BE(BigInt(expiresMs))
  bytes.write(key, TIME_BYTES)
  return bytes
}

/** Returns the key of the record that an expiry entry belongs to. */
export function fromExpiryKey(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8', TIME_BYTES)
}
