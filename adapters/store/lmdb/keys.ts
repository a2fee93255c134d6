import type { StorePlace, StoreTable } from '../../../core/contracts/store.ts'

/** What no name and no key has. */
const END = '\0'
/** The next after {@link END}. */
const AFTER_END = '\u0001'
const TIME_BYTES = 8

/** Where a record lies: database, table and key, in this order, so that a table's records are neighbours in the order of their keys. */
export function toKey({ database, table }: StoreTable, key: string): Buffer {
  return Buffer.from(database + END + table + END + key)
}

/** Behind all records of a table. */
export function toTableEnd({ database, table }: StoreTable): Buffer {
  return Buffer.from(database + END + table + AFTER_END)
}

/** Where a database begins, and behind its last table. */
export function toDatabaseBounds(database: string): readonly [Buffer, Buffer] {
  return [Buffer.from(database + END), Buffer.from(database + AFTER_END)]
}

export function parseKey(bytes: Uint8Array): StorePlace {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const tableAt = text.indexOf(END) + 1
  const keyAt = text.indexOf(END, tableAt) + 1
  const table = { database: text.slice(0, tableAt - 1), table: text.slice(tableAt, keyAt - 1) }
  return { table, key: text.slice(keyAt) }
}

/** Only the record's own key. */
export function parseOwnKey(bytes: Uint8Array, { length }: { readonly length: number }): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + length, bytes.byteLength - length).toString()
}

/** Where it is noted that a record expires: by the time. */
export function toExpiryKey(expiresMs: number, key: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(TIME_BYTES + key.length)
  bytes.writeBigUInt64BE(BigInt(expiresMs))
  bytes.set(key, TIME_BYTES)
  return bytes
}

/** Key of the record a note is of. */
export function fromExpiryKey(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.subarray(TIME_BYTES))
}
