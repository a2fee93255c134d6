import type { StoreRecord } from '../../core/contracts/store.ts'

/** A metadata value with its type: `string` or `int64` (reference 4). */
export interface Field {
  readonly type: string
  readonly value: string
}

/** A record in requests and responses (specification: Store record). */
export interface RecordMessage {
  readonly key: string
  readonly value: Uint8Array
  /** Seconds until expiry, from the time of the write or read; 0 if it never expires. */
  readonly expiry: number
  readonly metadata: Readonly<Record<string, Field>>
  /** Increases with each write. It is ignored in writes. */
  readonly version: number
}

/** Separates type and value of a field. */
const SEPARATOR = ':'

export function toMessage(record: StoreRecord, nowMs: number): RecordMessage {
  const { key, value, expiresMs, version } = record
  const metadata: Record<string, Field> = {}
  for (const name in record.metadata) metadata[name] = parseField(record.metadata[name]!)
  const expiry = expiresMs === 0 ? 0 : Math.max(1, Math.ceil((expiresMs - nowMs) / 1000))
  return { key, value, expiry, metadata, version }
}

/** Returns the expiry of a record written now. */
export function toExpiresMs(expiry: number, nowMs: number): number {
  return expiry === 0 ? 0 : nowMs + expiry * 1000
}

export function toMetadata(fields: RecordMessage['metadata']): StoreRecord['metadata'] {
  const metadata: Record<string, string> = {}
  for (const name in fields) {
    const { type, value } = fields[name]!
    metadata[name] = `${type}${SEPARATOR}${value}`
  }
  return metadata
}

/** A value without a type was written by another client and is a string. */
function parseField(text: string): Field {
  const at = text.indexOf(SEPARATOR)
  return at < 0
    ? { type: 'string', value: text }
    : { type: text.slice(0, at), value: text.slice(at + 1) }
}
