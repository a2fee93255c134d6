/** RFC 3986 §3.3 plus characters that browsers send; no control or non-ASCII bytes, spaces, `#` or `\`. */
const PATH = /^\/[!"$-[\]-~]*$/
/** Encoded bytes that change the meaning of a path (NUL and `\`), and malformed escapes. */
const ENCODED_TRAP = /%(?:00|5c|(?![0-9a-f]{2}))/i
const ENCODED_SLASH = /%2f/gi
/**
 * Parts that servers interpret differently in a path with an encoded slash: a path parameter ends before or after the
 * slash, and double decoding yields other segments.
 */
const ENCODED_SLASH_TRAP = /;|%3b|%25[0-9a-f]{2}/i
/** A `.` or `..` segment, literal or percent-encoded, with or without path parameters. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:[/;]|%3b|$)/i
export const NOT_ENCODED = 'the request target contains a character that must be percent-encoded'

/**
 * Returns why a path is invalid, or undefined if it is valid. Called before routing and after rewriting.
 *
 * @param path as received, without the query.
 * @param encodedSlashes whether the path may contain `%2F`.
 */
export function checkPath(path: string, encodedSlashes: boolean): string | undefined {
  if (!PATH.test(path)) return NOT_ENCODED
  const isEscaped = path.includes('%')
  if (isEscaped && ENCODED_TRAP.test(path))
    return 'the path must not contain %00, %5C or a malformed escape'
  // Segments are checked as seen by a backend that decodes the slash.
  const decoded = isEscaped ? path.replace(ENCODED_SLASH, '/') : path
  if (decoded !== path) {
    if (!encodedSlashes) return 'the path must not contain %2F'
    if (ENCODED_SLASH_TRAP.test(path))
      return 'a path with %2F must not contain ";", %3B or an encoded percent sign'
  }
  if ((isEscaped || path.includes('/.')) && DOT_SEGMENT.test(decoded))
    return 'the path must not contain "." or ".." segments'
  return undefined
}
