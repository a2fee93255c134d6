import { readBearer } from '../../core/auth/bearer.ts'
import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { isSameHost } from '../../core/same-host.ts'

/** The cookie of the dashboard. */
export const TOKEN_COOKIE = 'mx-token'
const COOKIE = `${TOKEN_COOKIE}=`

/**
 * Takes the access token out of the fields of a request: that of `Authorization: Bearer`, else of the cookie `mx-token`, which
 * then stands in `Authorization`, as services want it. Undefined: there is none, or it is none of a page of the same host.
 *
 * @throws {GatewayError} 400 when there are several.
 */
export function takeToken(x: Exchange): string | undefined {
  const { flat } = x.headers
  let authorization: string | undefined
  let hasCookie = false
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (name.length === 6) hasCookie ||= name === 'cookie' && flat[i + 1]!.includes(COOKIE)
    else if (name.length === 13 && name === 'authorization') {
      if (authorization !== undefined) throw refuse('one field Authorization expected, got several')
      authorization = flat[i + 1]!
    }
  }
  const cookie = hasCookie ? takeCookie(x) : undefined
  if (authorization !== undefined) return readBearer(authorization)
  if (cookie === undefined || !isOwnPage(x)) return undefined
  x.headers.set('authorization', `Bearer ${cookie}`)
  return cookie
}

/** Removes the cookie, which is for nobody else. @throws {GatewayError} 400 when there are several. */
function takeCookie({ headers }: Exchange): string | undefined {
  const cookies = headers.getAll('cookie').flatMap((value) => value.split(/; */))
  const tokens = cookies.filter((cookie) => cookie.startsWith(COOKIE))
  if (tokens.length > 1) throw refuse('one cookie mx-token expected, got several')
  if (tokens.length === 0) return undefined
  const others = cookies.filter((cookie) => cookie !== tokens[0])
  headers.delete('cookie')
  if (others.length > 0) headers.append('cookie', others.join('; '))
  const token = tokens[0]!.slice(COOKIE.length)
  // Written twice by some clients (reference 1.10).
  return token.startsWith(COOKIE) ? token.slice(COOKIE.length) : token
}

/**
 * Whether a request comes from a page of the host it is for, or of no page: browsers add cookies to whatever any page sends.
 * Pages that are let in from elsewhere show their token themselves.
 */
function isOwnPage({ headers, host }: Exchange): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  const origin = headers.get('origin')
  return origin === undefined || isSameHost(origin, host)
}

function refuse(detail: string): GatewayError {
  return new GatewayError(GATEWAY_ID, 400, detail)
}
