/** Part of a representation. */
export interface ByteRange {
  readonly start: number
  readonly length: number
}

const SINGLE = /^bytes=(?:(\d+)-(\d*)|-(\d+))$/i

/**
 * Parses `Range` for a representation (RFC 9110 §14.2). Returns undefined if the header is ignored and the complete
 * representation is sent: the header is malformed, or contains another unit or several ranges.
 *
 * @param size size of the representation in bytes.
 */
export function parseByteRange(
  header: string | undefined,
  size: number,
): ByteRange | 'unsatisfiable' | undefined {
  // Some clients send `bytes=0-` with every request, but an empty file has no range.
  const match = header === undefined || size === 0 ? null : SINGLE.exec(header.trim())
  if (match === null) return undefined
  const [, first, last, suffix] = match
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, length }
  }
  const start = Number(first)
  const end = last === '' ? Number.POSITIVE_INFINITY : Number(last)
  if (end < start) return undefined
  if (start >= size) return 'unsatisfiable'
  return { start, length: Math.min(end, size - 1) - start + 1 }
}
