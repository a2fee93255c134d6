import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { COOKIE, SECURE_COOKIE } from '../../core/http/dashboard-cookie.ts'
import { ID } from './id.ts'
import { isSecurePage } from './same-origin.ts'
import type { Session, Sessions } from './sessions.ts'

/**
 * The sessions whose ids are in the cookies of a request. A page known to be loaded over TLS counts only with the cookie that
 * nobody sets without TLS. Ids of no session are ignored: scripts of any page of the host can add cookies.
 */
export function findSessions(x: Exchange, sessions: Sessions): ReadonlySet<Session> {
  return new Set(readIds(x).flatMap((id) => sessions.find(id) ?? []))
}

/**
 * The session of a request.
 *
 * @throws {GatewayError} 401 when there is none, or several: a page of the host may have added one, so none of them is trusted.
 */
export function findSession(x: Exchange, sessions: Sessions): Session {
  const [session, ...others] = findSessions(x, sessions)
  if (session === undefined) throw new GatewayError(ID, 401, 'not logged in')
  if (others.length === 0) return session
  throw new GatewayError(ID, 401, 'the browser sent cookies of several sessions: log in again')
}

/** `Set-Cookie` (RFC 6265 §4.1) of a new session: no script reads it, no other site sends it, and it ends with the session. */
export function formatSessionCookie(x: Exchange, { id }: Session, maxAgeMs: number): string {
  return format(x, id, Math.floor(maxAgeMs / 1000))
}

/** `Set-Cookie` that removes it. */
export function formatNoCookie(x: Exchange): string {
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
