import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { COOKIE, SECURE_COOKIE } from '../../core/http/dashboard-cookie.ts'
import { ID } from './id.ts'
import { isSecurePage } from './same-origin.ts'
import type { Session, Sessions } from './sessions.ts'

/**
 * Finds the sessions in the cookies of a request. For a page loaded over TLS, only the cookie that
 * cannot be set without TLS is valid. Unknown ids are ignored, because scripts of any page on the
 * host can add cookies.
 */
export function findSessions(x: Exchange, sessions: Sessions): ReadonlySet<Session> {
  return new Set(readIds(x).flatMap((id) => sessions.find(id) ?? []))
}

/**
 * Finds the session of a request.
 *
 * @throws {GatewayError} 401 if there is no session, or if there are several: another page on the
 * host may have added one, so none is trusted.
 */
export function findSession(x: Exchange, sessions: Sessions): Session {
  const [session, ...conflicting] = findSessions(x, sessions)
  if (session === undefined) throw new GatewayError(ID, 401, 'not logged in')
  if (conflicting.length === 0) return session
  throw new GatewayError(ID, 401, 'received cookies for several sessions; log in again')
}

/**
 * Returns the `Set-Cookie` header (RFC 6265 §4.1) for a new session. The cookie is inaccessible to
 * scripts, restricted to the same site, and expires with the session.
 */
export function formatSessionCookie(x: Exchange, { id }: Session, maxAgeMs: number): string {
  return format(x, id, Math.floor(maxAgeMs / 1000))
}

/** Returns the `Set-Cookie` header that deletes the cookie. */
export function formatExpiredCookie(x: Exchange): string {
  return format(x, '', 0)
}

function readIds(x: Exchange): string[] {
  const names = isSecurePage(x) ? [SECURE_COOKIE] : [SECURE_COOKIE, COOKIE]
  return x.headers
    .getAll('cookie')
    .flatMap((value) => value.split(/; */))
    .flatMap((pair) => {
      const at = pair.indexOf('=')
      return names.includes(pair.slice(0, at)) ? [pair.slice(at + 1)] : []
    })
}

function format(x: Exchange, value: string, maxAgeS: number): string {
  const isSecure = isSecurePage(x)
  const pair = `${isSecure ? SECURE_COOKIE : COOKIE}=${value}`
  return `${pair}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}
