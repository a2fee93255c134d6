/** Of a character of a string, in UTF-8. */
const MOST_BYTES = 3

/** Keys that are texts, in the order of their bytes in UTF-8: lmdb-js has them written where it wants them, without a buffer between. */
export const textKeys = {
  /** @returns where it ends. @throws {RangeError} when there is no room, as lmdb-js expects it. */
  writeKey(key: string, target: Buffer, start: number): number {
    const isShort = start + key.length * MOST_BYTES <= target.length
    // `write` would cut it off.
    if (!isShort && start + Buffer.byteLength(key) > target.length)
      throw new RangeError('there is no room for the key')
    return start + target.write(key, start)
  },
  readKey: (target: Buffer, start: number, end: number): string =>
    target.toString('utf8', start, end),
}
