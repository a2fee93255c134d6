/**
 * Encoding of byte values, each with its own buffer. lmdb-js would copy values with `slice`, which
 * takes several times as long as allocating from the pool.
 */
export const bytesValues = {
  encode: (value: Buffer): Buffer => value,
  /** @param bytes contains the value at its start and may be reused afterwards. */
  decode(bytes: Buffer, length: number = bytes.length): Buffer {
    const value = Buffer.allocUnsafe(length)
    // lmdb-js sets the length of its buffer to the length of the value, which `copy` would respect.
    value.set(new Uint8Array(bytes.buffer, bytes.byteOffset, length))
    return value
  },
}
