import { randomFillSync } from 'node:crypto'

const keys = Buffer.alloc(8192)
let nextKey = keys.length

/**
 * Writes a random, nonzero masking key into `key` (RFC 6455 §5.3). With a zero key, `ws` would later send the caller's
 * memory itself instead of a masked copy.
 */
export function generateMask(key: Buffer): void {
  do {
    if (nextKey === keys.length) {
      randomFillSync(keys)
      nextKey = 0
    }
    keys.copy(key, 0, nextKey, nextKey + 4)
    nextKey += 4
  } while (key.readUInt32LE(0) === 0)
}

/** Masks a payload in place, four bytes at a time. Its offset in its `ArrayBuffer` must be a multiple of 4. */
export function maskInPlace(payload: Uint8Array, key: Buffer): void {
  const { buffer, byteOffset, length } = payload
  const words = new Int32Array(buffer, byteOffset, length >> 2)
  // In the byte order of this machine.
  const word = new Int32Array(Uint8Array.from(key).buffer)[0]!
  for (let i = 0; i < words.length; i++) words[i]! ^= word
  for (let i = length & ~3; i < length; i++) payload[i]! ^= key[i & 3]!
}
