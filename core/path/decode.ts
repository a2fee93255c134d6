/** What two readers may understand differently: control characters, slashes, and what would be an escape again. */
const AMBIGUOUS = /[\0-\x1f\x7f/\\]|%[0-9a-f]{2}/i

/** A percent-decoded segment; undefined when it is no UTF-8, or ambiguous. */
export function decodeSegment(segment: string): string | undefined {
  let decoded: string
  try {
    decoded = decodeURIComponent(segment)
  } catch {
    return undefined
  }
  return AMBIGUOUS.test(decoded) ? undefined : decoded
}
