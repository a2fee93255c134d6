import type { StoreRecord } from '../../../core/contracts/store.ts'

/** Fixed part of a stored record. */
export interface RecordHead extends Pick<StoreRecord, 'version' | 'expiresMs'> {
  /** Stored size in bytes. */
  readonly length: number
}

/**
 * Header layout: version and expiry as 64-bit floats, and the length of the metadata. The metadata
 * as JSON and the value follow.
 */
const HEAD_BYTES = 8 + 8 + 4
const EMPTY = Buffer.alloc(0)
const NO_METADATA = {}

/** Serializes a record. */
export function formatRecord({
  value,
  metadata,
  expiresMs,
  version,
}: Omit<StoreRecord, 'key'>): Buffer {
  const json = isEmpty(metadata) ? '' : JSON.stringify(metadata)
  const jsonBytes = json === '' ? 0 : Buffer.byteLength(json)
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + jsonBytes + value.length)
  bytes.writeDoubleLE(version, 0)
  bytes.writeDoubleLE(expiresMs, 8)
  bytes.writeUInt32LE(jsonBytes, 16)
  if (jsonBytes > 0) bytes.write(json, HEAD_BYTES)
  bytes.set(value, HEAD_BYTES + jsonBytes)
  return bytes
}

/** Returns the stored size in bytes, assuming ASCII metadata. */
export function toRecordLength({
  value,
  metadata,
}: Pick<StoreRecord, 'value' | 'metadata'>): number {
  return HEAD_BYTES + value.length + (isEmpty(metadata) ? 0 : JSON.stringify(metadata).length)
}

/** @param bytes a stored record; not retained. */
export function parseHead(bytes: Buffer): RecordHead {
  return {
    version: bytes.readDoubleLE(0),
    expiresMs: bytes.readDoubleLE(8),
    length: bytes.length,
  }
}

/**
 * @param bytes a stored record of `length` bytes; not retained.
 * @param keysOnly whether to leave value and metadata empty.
 */
export function parseRecord(
  key: string,
  bytes: Buffer,
  length: number,
  keysOnly = false,
): StoreRecord {
  const { version, expiresMs } = parseHead(bytes)
  if (keysOnly) return { key, value: EMPTY, metadata: NO_METADATA, expiresMs, version }
  const valueAt = HEAD_BYTES + bytes.readUInt32LE(16)
  const value = Buffer.allocUnsafe(length - valueAt)
  bytes.copy(value, 0, valueAt, length)
  return {
    key,
    value,
    metadata:
      valueAt === HEAD_BYTES
        ? NO_METADATA
        : (JSON.parse(bytes.toString('utf8', HEAD_BYTES, valueAt)) as StoreRecord['metadata']),
    expiresMs,
    version,
  }
}

function isEmpty(metadata: StoreRecord['metadata']): boolean {
  for (const _ in metadata) return false
  return true
}
