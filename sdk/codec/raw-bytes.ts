/** The bytes of a value, shared with it: of an `ArrayBuffer` and its views, too, of which JSON would keep nothing. Undefined: it is none of these. */
export function toRawBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value
  if (ArrayBuffer.isView(value))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer)
    return new Uint8Array(value)
  return undefined
}
