/** `.` and `..`, literal or percent-encoded, with or without path parameters. */
const DOTS = /^(?:\.|%2e){1,2}(?:;|%3b|$)/i
const VERSION = /^v\d+$/
const DOT = 46
const PERCENT = 37

/**
 * Splits a path into segments as received, without a trailing slash; `/` has no segments. Returns undefined for paths
 * that must not match: without a leading slash, with empty segments, or with dot segments (RFC 3986 §5.2.4).
 */
export function splitPath(path: string): string[] | undefined {
  if (path.charCodeAt(0) !== 47) return undefined
  if (path.length === 1) return []
  const segments = path.slice(1, path.endsWith('/') ? -1 : undefined).split('/')
  for (const segment of segments) {
    if (segment === '') return undefined
    const first = segment.charCodeAt(0)
    if ((first === DOT || first === PERCENT) && DOTS.test(segment)) return undefined
  }
  return segments
}

/** Whether a segment is a version such as `v1` (specification: Versioning). */
export function isVersionSegment(segment: string): boolean {
  return VERSION.test(segment)
}
