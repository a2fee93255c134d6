/** Maximum length in bytes of a UTF-16 code unit in UTF-8. */
const MAX_UNIT_BYTES = 3

/**
 * Encoding of text keys in UTF-8 byte order. lmdb-js writes them in place, without an intermediate
 * buffer.
 */
export const textKeys = {
  /**
   * @returns the end of the key.
   * @throws {RangeError} if the key does not fit, as lmdb-js expects.
   */
  writeKey(key: string, target: Buffer, start: number): number {
    const isShort = start + key.length * MAX_UNIT_BYTES <= target.length
    // `write` would truncate the key.
    if (!isShort && start + Buffer.byteLength(key) > target.length)
      throw new RangeError('the key does not fit into the buffer')
    return start + target.write(key, start)
  },
  readKey: (target: Buffer, start: number, end: number): string =>
    target.toString('utf8', start, end),
}
