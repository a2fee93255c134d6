import { toJsonText } from '../codec/json-text.ts'
import { toRawBytes } from '../codec/raw-bytes.ts'

/** A metadata value and its type, such as `int64`. */
export interface StoreField {
  readonly type: string
  readonly value: string
}

/** A record of a store (specification: Store record). */
export interface StoreRecord {
  readonly key: string
  readonly value: Uint8Array
  /** Remaining seconds at the time of the read; 0 if it never expires. */
  readonly expirySeconds: number
  readonly metadata: Readonly<Record<string, StoreField>>
  /** Increases with every write of the key. */
  readonly version: number
  /** The value as UTF-8. */
  text(): string
  /**
   * Parses the value as JSON; integers beyond 2^53 are exact only in {@link text}.
   *
   * @throws {SyntaxError} for invalid JSON.
   */
  json<T = unknown>(): T
}

/** A change of a key. */
export interface StoreEvent {
  readonly action: 'write' | 'delete'
  readonly key: string
  /** New record; only for writes. */
  readonly record?: StoreRecord
}

/** A record in the JSON format of the service. */
export interface WireRecord {
  readonly key: string
  /** Base64. */
  readonly value: string
  readonly expiry: number
  readonly metadata: Readonly<Record<string, StoreField>>
  readonly version: number
}

/** A record to write, in the JSON format of the service. */
export interface RecordInput {
  readonly key: string
  /** Base64. */
  readonly value: string
  /** @default 0 */
  readonly expiry?: number | undefined
  /** @default none */
  readonly metadata?: WireRecord['metadata'] | undefined
}

/** A class, so that the thousands of records per page share their methods. */
class ReadRecord implements StoreRecord {
  readonly key: string
  readonly value: Buffer
  readonly expirySeconds: number
  readonly metadata: StoreRecord['metadata']
  readonly version: number

  constructor({ key, value, expiry, metadata, version }: WireRecord) {
    this.key = key
    this.value = Buffer.from(value, 'base64')
    this.expirySeconds = expiry
    this.metadata = metadata
    this.version = version
  }

  text(): string {
    return this.value.toString()
  }

  json<T>(): T {
    return JSON.parse(this.text()) as T
  }
}

export function toStoreRecord(record: WireRecord): StoreRecord {
  return new ReadRecord(record)
}

/**
 * Converts a record to the JSON format of the service.
 *
 * @throws {TypeError} for a value that JSON cannot represent.
 */
export function toWire(
  key: string,
  value: unknown,
  expiry?: number,
  metadata?: Readonly<Record<string, string | StoreField>>,
): RecordInput {
  const fields = metadata === undefined ? metadata : toFields(metadata)
  return { key, value: toBytes(value).toString('base64'), expiry, metadata: fields }
}

function toFields(
  metadata: Readonly<Record<string, string | StoreField>>,
): Readonly<Record<string, StoreField>> {
  const fields: Record<string, StoreField> = {}
  for (const [name, field] of Object.entries(metadata))
    fields[name] = typeof field === 'string' ? { type: 'string', value: field } : field
  return fields
}

function toBytes(value: unknown): Buffer {
  const bytes = toRawBytes(value)
  if (bytes !== undefined) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (typeof value === 'string') return Buffer.from(value)
  return Buffer.from(toJsonText(value, 'value must be bytes, text or a JSON value'))
}
