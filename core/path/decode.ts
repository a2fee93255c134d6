/** Decoded text that servers interpret differently: control characters, slashes, and double encoding. */
const AMBIGUOUS = /[\0-\x1f\x7f/\\]|%[0-9a-f]{2}/i

/** Percent-decodes a segment. Returns undefined if it is not UTF-8 or is ambiguous. */
export function decodeSegment(segment: string): string | undefined {
  let decoded: string
  try {
    decoded = decodeURIComponent(segment)
  } catch {
    return undefined
  }
  return isAmbiguous(decoded) ? undefined : decoded
}

/** Whether servers may interpret the decoded text of a segment differently. */
export function isAmbiguous(decoded: string): boolean {
  return AMBIGUOUS.test(decoded)
}
