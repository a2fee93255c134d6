/** Values that are bytes, each a buffer of its own. lmdb-js would copy it by `slice`, which takes several times as long as a piece of the pool. */
export const bytesValues = {
  encode: (value: Buffer): Buffer => value,
  /** @param bytes hold the value at their start; they may be used again afterwards. */
  decode(bytes: Buffer, length: number = bytes.length): Buffer {
    const value = Buffer.allocUnsafe(length)
    // lmdb-js has the length of its buffer say that of the value, which `copy` would go by.
    value.set(new Uint8Array(bytes.buffer, bytes.byteOffset, length))
    return value
  },
}
