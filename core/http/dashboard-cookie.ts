import type { Plugin } from '../chain.ts'
import type { HeaderList } from './headers.ts'

/** Session cookie of the dashboard over plain HTTP. */
export const COOKIE: string = 'mx-dashboard'
/**
 * Session cookie of the dashboard over TLS: browsers accept it only with `Secure`, `Path=/` and no `Domain`
 * (RFC 6265bis §4.1.3.2).
 */
export const SECURE_COOKIE: string = `__Host-${COOKIE}`
/** Cookie of earlier versions, which contained an access token. */
const OLD_COOKIE = 'mx-token'

/** Contained in all three names: a fast check that excludes most cookies. */
const COMMON = 'mx-'
/**
 * A pair of `Cookie` or `Set-Cookie` that the dashboard would read under one of its names. Browsers trim spaces,
 * compare names case-sensitively, and send a cookie without a name as its value only: `=mx-dashboard=x` is returned as
 * `mx-dashboard=x` (RFC 6265bis §5.6). uWebSockets also trims bytes beyond ASCII at the start of a header value.
 */
const PAIR = new RegExp(
  `^[\\t \\x80-\\xff]*(?:=[\\t \\x80-\\xff]*)?(?:${COOKIE}|${SECURE_COOKIE}|${OLD_COOKIE})[\\t ]*(?:[=;]|$)`,
)

/**
 * Isolates the session cookie of the dashboard from the services behind the gateway: backends can neither read nor
 * replace it. Browsers share cookies across all ports of a host (RFC 6265 §8.5).
 */
export const dashboardCookie: Plugin = {
  name: 'dashboard-cookie',
  onRequest: ({ headers }) => removePairs(headers, 'cookie', withoutPairs),
  onReply: ({ replyHeaders }) => removePairs(replyHeaders, 'set-cookie', withoutPair),
}

/** @param filter returns the remaining value; empty to remove the header. */
function removePairs(headers: HeaderList, name: string, filter: (value: string) => string): void {
  const { flat } = headers
  for (let i = 0; i < flat.length; i += 2)
    if (flat[i] === name && flat[i + 1]!.includes(COMMON)) return rewrite(headers, name, filter)
}

function rewrite(headers: HeaderList, name: string, filter: (value: string) => string): void {
  const values = headers.getAll(name).map(filter)
  headers.delete(name)
  for (const value of values) if (value !== '') headers.append(name, value)
}

function withoutPairs(cookies: string): string {
  const pairs = cookies.split(';')
  const remaining = pairs.filter((pair) => !PAIR.test(pair))
  return remaining.length === pairs.length ? cookies : remaining.join(';').trim()
}

function withoutPair(setCookie: string): string {
  return PAIR.test(setCookie) ? '' : setCookie
}
