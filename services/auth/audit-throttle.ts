const WINDOW_MS = 60_000
/** Of a minute. */
const NAMES_MAX = 100

/**
 * Whether a name comes for the first time within a minute; of all names of a minute only the first hundred do. So somebody is told of
 * what strangers may cause in any number.
 *
 * @param nowMs unix time.
 */
export function createOnceAMinute(nowMs: () => number): (name: string) => boolean {
  const known = new Set<string>()
  let endsMs = 0
  return (name) => {
    const now = nowMs()
    if (now >= endsMs) {
      known.clear()
      endsMs = now + WINDOW_MS
    }
    if (known.has(name) || known.size === NAMES_MAX) return false
    known.add(name)
    return true
  }
}
