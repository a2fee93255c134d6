/** Stored state of a named group. */
export interface GroupProgress {
  /** All events up to this sequence are acknowledged. */
  readonly acked: number
  /** Acknowledged events after that sequence, in any order. */
  readonly ahead: Iterable<number>
  /** Events with an earlier timestamp are skipped. Undefined if none are skipped. */
  readonly sinceMs: number | undefined
  /** Number of pulls of unacknowledged events. */
  readonly attempts: ReadonlyMap<number, number>
}

const VERSION = 1
/**
 * Header layout: version, `acked` and `sinceMs` as 64-bit floats (NaN if none), and the number of
 * attempts. One bit for each event ahead follows.
 */
const HEAD_BYTES = 1 + 8 + 8 + 4
/** Distance of an event from `acked`, and its attempt count. */
const ATTEMPT_BYTES = 4 + 4

export function formatGroupState({ acked, ahead, sinceMs, attempts }: GroupProgress): Uint8Array {
  const done = [...ahead]
  let farthest = acked
  for (const sequence of done) if (sequence > farthest) farthest = sequence
  const bitsAt = HEAD_BYTES + attempts.size * ATTEMPT_BYTES
  const bytes = Buffer.alloc(bitsAt + Math.ceil((farthest - acked) / 8))
  bytes.writeUInt8(VERSION, 0)
  bytes.writeDoubleLE(acked, 1)
  bytes.writeDoubleLE(sinceMs ?? Number.NaN, 9)
  bytes.writeUInt32LE(attempts.size, 17)
  let at = HEAD_BYTES
  for (const [sequence, count] of attempts) {
    bytes.writeUInt32LE(sequence - acked, at)
    bytes.writeUInt32LE(count, at + 4)
    at += ATTEMPT_BYTES
  }
  for (const sequence of done) {
    const bit = sequence - acked - 1
    bytes[bitsAt + (bit >> 3)]! |= 1 << (bit & 7)
  }
  return bytes
}

/** @throws {Error} for an unknown version. */
export function parseGroupState(state: Uint8Array): GroupProgress {
  const bytes = Buffer.from(state.buffer, state.byteOffset, state.byteLength)
  if (bytes[0] !== VERSION)
    throw new Error(`the state of a group must have version ${VERSION}, got ${bytes[0]}`)
  const acked = bytes.readDoubleLE(1)
  const since = bytes.readDoubleLE(9)
  const count = bytes.readUInt32LE(17)
  const bitsAt = HEAD_BYTES + count * ATTEMPT_BYTES
  const attempts = new Map<number, number>()
  for (let at = HEAD_BYTES; at < bitsAt; at += ATTEMPT_BYTES)
    attempts.set(acked + bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4))
  const ahead: number[] = []
  for (let bit = 0; bit < (bytes.length - bitsAt) * 8; bit++)
    if ((bytes[bitsAt + (bit >> 3)]! & (1 << (bit & 7))) !== 0) ahead.push(acked + 1 + bit)
  return { acked, ahead, sinceMs: Number.isNaN(since) ? undefined : since, attempts }
}
