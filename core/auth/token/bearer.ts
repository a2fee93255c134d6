const BLANK = 0x20
const SCHEME = /^bearer(?:[ \t]+|$)/i

/**
 * The access token of a field `Authorization` (RFC 6750 §2.1), read the same way at every door; undefined: it is of another scheme.
 *
 * Whatever follows the scheme is the token, and nothing is an empty one: what is malformed is refused, not overlooked.
 */
export function readBearer(authorization: string): string | undefined {
  // As nearly all write it; a pattern takes longer than all the rest.
  if (authorization.startsWith('Bearer ') && authorization.charCodeAt(7) !== BLANK)
    return authorization.slice(7)
  const start = SCHEME.exec(authorization)?.[0]
  return start === undefined ? undefined : authorization.slice(start.length)
}
