/** The bytes of an `ArrayBuffer` or a view, without copying; JSON would drop them. Undefined for other values. */
export function toRawBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value
  if (ArrayBuffer.isView(value))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer)
    return new Uint8Array(value)
  return undefined
}
