/** Type OIDs of array elements (pg_type.dat). */
const BYTEA = 17
const INT8 = 20
const TEXT = 25
/** Dimensions, null flag and type, then the length and lower bound of the only dimension. */
const HEAD_BYTES = 12 + 8

/**
 * Serializes an array in PostgreSQL's binary format (`array_recv` in its sources), which the
 * library sends unchanged. This avoids escaping and hexadecimal encoding, which doubles the size.
 */
export function toTextArray(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text))
  return toArray(TEXT, lengths, (array, at, i) => array.write(texts[i]!, at))
}

/** See {@link toTextArray}; for bytea. */
export function toBytesArray(values: readonly Uint8Array[]): Buffer {
  const lengths = values.map((value) => value.length)
  return toArray(BYTEA, lengths, (array, at, i) => array.set(values[i]!, at))
}

/** See {@link toTextArray}; for bigint with safe integers only. */
export function toBigintArray(numbers: readonly number[]): Buffer {
  const lengths = numbers.map(() => 8)
  return toArray(INT8, lengths, (array, at, i) => array.writeBigInt64BE(BigInt(numbers[i]!), at))
}

function toArray(
  type: number,
  lengths: readonly number[],
  write: (array: Buffer, at: number, index: number) => void,
): Buffer {
  const isEmpty = lengths.length === 0
  const bytes = lengths.reduce((sum, length) => sum + 4 + length, isEmpty ? 12 : HEAD_BYTES)
  const array = Buffer.allocUnsafe(bytes)
  array.writeInt32BE(isEmpty ? 0 : 1, 0)
  array.writeInt32BE(0, 4)
  array.writeInt32BE(type, 8)
  if (isEmpty) return array
  array.writeInt32BE(lengths.length, 12)
  array.writeInt32BE(1, 16)
  let at = HEAD_BYTES
  for (let i = 0; i < lengths.length; i++) {
    at = array.writeInt32BE(lengths[i]!, at)
    write(array, at, i)
    at += lengths[i]!
  }
  return array
}
