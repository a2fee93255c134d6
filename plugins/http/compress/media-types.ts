const EVENT_STREAM = 'text/event-stream'
const PATTERN = /^(?:[\w.+-]+\/(?:\*|[\w.+-]+)|\*\+[\w.-]+)$/

/**
 * Returns a function that matches a `Content-Type` with patterns: `text/html`, `text/*`, or `*+json` for a suffix.
 * Event streams match only their full name.
 *
 * @throws {RangeError} naming the invalid pattern.
 */
export function compileTypes(patterns: readonly string[]): (contentType?: string) => boolean {
  const exact = new Set<string>()
  const families: string[] = []
  const suffixes: string[] = []
  for (const pattern of patterns.map((text) => text.toLowerCase())) {
    if (!PATTERN.test(pattern))
      throw new RangeError(
        `types must contain media types such as text/html, text/* or *+json, got ${JSON.stringify(pattern)}`,
      )
    if (pattern.startsWith('*')) suffixes.push(pattern.slice(1))
    else if (pattern.endsWith('/*')) families.push(pattern.slice(0, -1))
    else exact.add(pattern)
  }
  return (contentType) => {
    if (contentType === undefined) return false
    const end = contentType.indexOf(';')
    const type = (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
    if (exact.has(type)) return true
    if (type === EVENT_STREAM) return false
    return (
      families.some((family) => type.startsWith(family)) ||
      suffixes.some((suffix) => type.endsWith(suffix))
    )
  }
}
