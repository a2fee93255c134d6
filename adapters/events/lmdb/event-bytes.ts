import type { NewEvent, StoredEvent } from '../../../core/contracts/events.ts'
import type { LogMark } from '../../../domain/events/log/index.ts'

/**
 * Header layout: mark and timestamp as 64-bit floats, length of the metadata, and id. The metadata
 * as JSON and the payload follow.
 */
const ID_AT = 4 * 8 + 4
const HEAD_BYTES = ID_AT + 36
const NO_METADATA = {}

/** Serializes an event. */
export function formatEvent(
  { id, timestampMs, metadata, payload }: NewEvent,
  mark: LogMark,
): Buffer {
  const json = isEmpty(metadata) ? '' : JSON.stringify(metadata)
  const jsonBytes = json === '' ? 0 : Buffer.byteLength(json)
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + jsonBytes + payload.length)
  bytes.writeDoubleLE(mark.storedMs, 0)
  bytes.writeDoubleLE(mark.highestMs, 8)
  bytes.writeDoubleLE(mark.startBytes, 16)
  bytes.writeDoubleLE(timestampMs, 24)
  bytes.writeUInt32LE(jsonBytes, 32)
  bytes.write(id, ID_AT, 'latin1')
  if (jsonBytes > 0) bytes.write(json, HEAD_BYTES)
  bytes.set(payload, HEAD_BYTES + jsonBytes)
  return bytes
}

/** @param bytes a stored event; not retained. */
export function parseMark(bytes: Buffer): LogMark {
  return {
    storedMs: bytes.readDoubleLE(0),
    highestMs: bytes.readDoubleLE(8),
    startBytes: bytes.readDoubleLE(16),
  }
}

/** @param bytes a stored event; the payload is a view of it. */
export function parseEvent(sequence: number, bytes: Buffer): StoredEvent {
  const payloadAt = HEAD_BYTES + bytes.readUInt32LE(32)
  return {
    sequence,
    id: bytes.toString('latin1', ID_AT, HEAD_BYTES),
    timestampMs: bytes.readDoubleLE(24),
    metadata:
      payloadAt === HEAD_BYTES
        ? NO_METADATA
        : (JSON.parse(bytes.toString('utf8', HEAD_BYTES, payloadAt)) as NewEvent['metadata']),
    payload: bytes.subarray(payloadAt),
  }
}

function isEmpty(metadata: NewEvent['metadata']): boolean {
  for (const _ in metadata) return false
  return true
}
