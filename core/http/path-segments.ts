/** `.` and `..`, plainly or percent-encoded, also with path parameters behind them. */
const DOTS = /^(?:\.|%2e){1,2}(?:;|%3b|$)/i
const VERSION = /^v\d+$/
const DOT = 46
const PERCENT = 37

/**
 * The segments of a path as received, without the slash that may end it: none for `/`. Undefined where
 * nothing should be found: in paths without a slash first, with empty segments, or with dot segments (RFC 3986 §5.2.4).
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

/** Whether a segment is a version, `v1` (specification: Versioning). */
export function isVersion(segment: string): boolean {
  return VERSION.test(segment)
}
