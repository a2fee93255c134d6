/** Parts of a path that servers interpret differently. */
const AMBIGUOUS = /[%;]|\/\//
const ESCAPE = /%[0-9a-f]{2}/gi

/**
 * Normalizes a path for authorization: decoded, without path parameters (`;v=1`), with single slashes. The forwarded path
 * is not changed.
 */
export function toCanonicalPath(path: string): string {
  if (!AMBIGUOUS.test(path)) return path
  return decode(path)
    .replace(/;[^/]*/g, '')
    .replace(/\/{2,}/g, '/')
}

/** Decodes ASCII escapes only, if the path is not valid UTF-8. */
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
