/** Parts of a path that servers interpret differently. */
const AMBIGUOUS = /[%;]|\/\//
const ESCAPE = /%[0-9a-f]{2}/gi

/**
 * Normalizes a path for authorization: decoded, without path parameters (`;v=1`), with single slashes. The forwarded
 * path does not change.
 */
export function toCanonicalPath(path: string): string {
  if (!AMBIGUOUS.test(path)) return path
  return decode(path)
    .replace(/;[^/]*/g, '')
    .replace(/\/{2,}/g, '/')
}

/**
 * Returns other paths that servers may derive from `path`: its canonical form, and the path read by a server that
 * decodes twice and then removes dot segments. Empty if the path has a single interpretation.
 */
export function listSpellings(path: string): string[] {
  const once = toCanonicalPath(path)
  if (once === path) return []
  const twice = removeDots(toCanonicalPath(once))
  return twice === once ? [once] : [once, twice]
}

/** RFC 3986 §5.2.4. */
function removeDots(path: string): string {
  if (!path.includes('/.')) return path
  const segments: string[] = []
  for (const segment of path.split('/').slice(1)) {
    if (segment === '..') segments.pop()
    else if (segment !== '.') segments.push(segment)
  }
  return `/${segments.join('/')}`
}

/** Decodes only ASCII escapes if the path is not valid UTF-8. */
function decode(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch {
    return path.replace(ESCAPE, (text) => {
      const code = Number.parseInt(text.slice(1), 16)
      return code < 0x80 ? String.fromCharCode(code) : text
    })
  }
}
