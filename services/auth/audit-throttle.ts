const WINDOW_MS = 60_000
/** Maximum number of names per minute. */
const NAMES_MAX = 100

/**
 * Returns true for the first occurrence of a name within a minute, for at most one hundred names
 * per minute. It limits audit records that unauthenticated callers can cause in any number.
 *
 * @param nowMs Unix time.
 */
export function createThrottle(nowMs: () => number): (name: string) => boolean {
  const names = new Set<string>()
  let endsMs = 0
  return (name) => {
    const now = nowMs()
    if (now >= endsMs) {
      names.clear()
      endsMs = now + WINDOW_MS
    }
    if (names.has(name) || names.size === NAMES_MAX) return false
    names.add(name)
    return true
  }
}
