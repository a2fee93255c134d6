/** What different readers of a path may take for different things. */
const ODD = /[%;]|\/\//
const ESCAPE = /%[0-9a-f]{2}/gi

/**
 * The one form of a path by which rules are asked, however it was written: decoded, without parameters of segments (`;v=1`),
 * with single slashes. What is sent on stays as it came.
 */
export function toCanonicalPath(path: string): string {
  if (!ODD.test(path)) return path
  return decode(path)
    .replace(/;[^/]*/g, '')
    .replace(/\/{2,}/g, '/')
}

/** What is no UTF-8 is left as it is, but for ASCII. */
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
