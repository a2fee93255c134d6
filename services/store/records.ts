import type { StoreRecord } from '../../core/contracts/store.ts'

/** A value of a record's metadata, and what it stands for: `string`, `int64` (reference 4). */
export interface Field {
  readonly type: string
  readonly value: string
}

/** A record as it is written (specification: Store record). */
export interface RecordMessage {
  readonly key: string
  readonly value: Uint8Array
  /** Seconds until it ends, from when it is written or read; 0: never. */
  readonly expiry: number
  readonly metadata: Readonly<Record<string, Field>>
  /** Rises with every write; of one that is to be written it does not matter. */
  readonly version: number
}

/** Between the type of a field and its value. */
const SEPARATOR = ':'

/** A record as callers are told it. */
export function toMessage(record: StoreRecord, nowMs: number): RecordMessage {
  const { key, value, expiresMs, version } = record
  const metadata: Record<string, Field> = {}
  for (const name in record.metadata) metadata[name] = parseField(record.metadata[name]!)
  const expiry = expiresMs === 0 ? 0 : Math.max(1, Math.ceil((expiresMs - nowMs) / 1000))
  return { key, value, expiry, metadata, version }
}

/** When a record ends that is written now. */
export function toExpiresMs(expiry: number, nowMs: number): number {
  return expiry === 0 ? 0 : nowMs + expiry * 1000
}

/** Metadata as stores have them. */
export function toMetadata(fields: RecordMessage['metadata']): StoreRecord['metadata'] {
  const metadata: Record<string, string> = {}
  for (const name in fields) {
    const { type, value } = fields[name]!
    metadata[name] = `${type}${SEPARATOR}${value}`
  }
  return metadata
}

/** What somebody else wrote, without a type, is a string. */
function parseField(text: string): Field {
  const at = text.indexOf(SEPARATOR)
  return at < 0
    ? { type: 'string', value: text }
    : { type: text.slice(0, at), value: text.slice(at + 1) }
}
