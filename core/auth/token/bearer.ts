const BLANK = 0x20
const SCHEME = /^bearer(?:[ \t]+|$)/i

/**
 * The access token of an `Authorization` header (RFC 6750 §2.1), parsed the same way everywhere; undefined for other
 * schemes.
 *
 * Everything after the scheme is the token, or an empty token: a malformed header is rejected, not ignored.
 */
export function readBearer(authorization: string): string | undefined {
  // The usual form; a regular expression would dominate the cost.
  if (authorization.startsWith('Bearer ') && authorization.charCodeAt(7) !== BLANK)
    return authorization.slice(7)
  const start = SCHEME.exec(authorization)?.[0]
  return start === undefined ? undefined : authorization.slice(start.length)
}
