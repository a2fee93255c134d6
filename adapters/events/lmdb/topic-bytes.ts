import type { LogEnd } from '../../../domain/events/log/index.ts'

/** Stored state of a topic. */
export interface TopicRecord extends LogEnd {
  /** Prefix of the keys of the topic's events. */
  readonly number: number
  /** Sequence of the oldest retained event. */
  readonly first: number
  /** Total bytes of all earlier events. */
  readonly startBytes: number
}

const NUMBER_BYTES = 4
const SEQUENCE_BYTES = 6

/** Serializes a topic. */
export function formatTopicRecord(record: TopicRecord): Buffer {
  const bytes = Buffer.allocUnsafe(NUMBER_BYTES + 6 * 8)
  bytes.writeUInt32BE(record.number)
  const { first, last, startBytes, storedMs, highestMs } = record
  for (const [i, value] of [first, last, startBytes, record.bytes, storedMs, highestMs].entries())
    bytes.writeDoubleLE(value, NUMBER_BYTES + i * 8)
  return bytes
}

/** @param bytes a stored topic; not retained. */
export function parseTopicRecord(bytes: Buffer): TopicRecord {
  const at = (i: number): number => bytes.readDoubleLE(NUMBER_BYTES + i * 8)
  return {
    number: bytes.readUInt32BE(),
    first: at(0),
    last: at(1),
    startBytes: at(2),
    bytes: at(3),
    storedMs: at(4),
    highestMs: at(5),
  }
}

/** Returns the key of an event. Keys are sorted by topic and sequence. */
export function toEventKey(number: number, sequence: number): Buffer {
  const bytes = Buffer.allocUnsafe(NUMBER_BYTES + SEQUENCE_BYTES)
  bytes.writeUInt32BE(number)
  bytes.writeUIntBE(sequence, NUMBER_BYTES, SEQUENCE_BYTES)
  return bytes
}

export function parseSequence(key: Uint8Array): number {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).readUIntBE(
    NUMBER_BYTES,
    SEQUENCE_BYTES,
  )
}
