import type { Exchange } from '../../core/exchange.ts'
import { TOKEN_COOKIE } from '../../plugins/auth/shown-token.ts'
import { type Login, toView } from './logins.ts'
import { isSecurePage } from './own-page.ts'

/**
 * The value of `Set-Cookie` (RFC 6265 §4.1) that gives a browser the token of a login: for no script to read, for no other site to
 * send, gone when the token is.
 */
export function formatTokenCookie(x: Exchange, login: Login): string {
  const lifeS = Math.max(0, Math.floor((toView(login).expires - Date.now()) / 1000))
  return format(x, login.token, lifeS)
}

/** Has a browser forget its token. */
export function formatNoCookie(x: Exchange): string {
  return format(x, '', 0)
}

function format(x: Exchange, value: string, maxAgeS: number): string {
  const secure = isSecurePage(x) ? '; Secure' : ''
  return `${TOKEN_COOKIE}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`
}
