/**
 * Read buffer shared by all connections: each read is fully handled before the next, and longer-lived data is copied.
 */
export const READ_BUFFER: Buffer = Buffer.allocUnsafeSlow(128 * 1024)
/** The read buffer as 8-byte words. */
export const READ_WORDS: Float64Array = new Float64Array(READ_BUFFER.buffer)

/** Cached view of a complete body in the read buffer, since similar responses have the same position. */
let lastView: Buffer = READ_BUFFER.subarray(0, 0)
let lastFrom = 0

/** Returns `length` bytes from `from`. */
export function viewOf(bytes: Buffer, from: number, length: number): Buffer {
  if (bytes !== READ_BUFFER) return bytes.subarray(from, from + length)
  if (from !== lastFrom || length !== lastView.length) {
    lastView = READ_BUFFER.subarray(from, from + length)
    lastFrom = from
  }
  return lastView
}
