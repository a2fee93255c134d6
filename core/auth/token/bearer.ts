const BLANK = 0x20
const SCHEME = /^bearer(?:[ \t]+|$)/i

/**
 * Parses the access token of an `Authorization` header (RFC 6750 §2.1). All callers must parse it identically. Returns
 * undefined for other schemes.
 *
 * Everything after the scheme is the token, which may be empty, so that a malformed header is rejected and not ignored.
 */
export function readBearer(authorization: string): string | undefined {
  // Fast path for the usual form; a regular expression would dominate the cost.
  if (authorization.startsWith('Bearer ') && authorization.charCodeAt(7) !== BLANK)
    return authorization.slice(7)
  const start = SCHEME.exec(authorization)?.[0]
  return start === undefined ? undefined : authorization.slice(start.length)
}
