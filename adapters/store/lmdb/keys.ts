import type { StorePlace, StoreTable } from '../../../core/contracts/store.ts'

/** What no name and no key has. */
const END = '\0'
/** The next after {@link END}. */
const AFTER_END = '\u0001'
const TIME_BYTES = 8

/** Before the first database, and behind the last one: names are ASCII. */
export const ALL: readonly [string, string] = [AFTER_END, '\u007f']

/** Where a record lies: database, table and key, in this order, so that a table's records are neighbours in the order of their keys. */
export function toKey({ database, table }: StoreTable, key: string): string {
  return database + END + table + END + key
}

/** Behind all records of a table. */
export function toTableEnd({ database, table }: StoreTable): string {
  return database + END + table + AFTER_END
}

/** Where a database begins, and behind its last table. */
export function toDatabaseBounds(database: string): readonly [string, string] {
  return [database + END, database + AFTER_END]
}

export function parseKey(text: string): StorePlace {
  const tableAt = text.indexOf(END) + 1
  const keyAt = text.indexOf(END, tableAt) + 1
  const table = { database: text.slice(0, tableAt - 1), table: text.slice(tableAt, keyAt - 1) }
  return { table, key: text.slice(keyAt) }
}

/** Where it is noted that a record expires: by the time. */
export function toExpiryKey(expiresMs: number, key: string): Buffer {
  const bytes = Buffer.allocUnsafe(TIME_BYTES + Buffer.byteLength(key))
  bytes.writeBigUInt64BE(BigInt(expiresMs))
  bytes.write(key, TIME_BYTES)
  return bytes
}

/** Key of the record a note is of. */
export function fromExpiryKey(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8', TIME_BYTES)
}
