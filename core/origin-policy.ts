import { GATEWAY_ID, GatewayError } from './errors.ts'
import type { Exchange } from './exchange.ts'

/**
 * Whose pages may open WebSockets: anyone's, those of the host the request names, or those of
 * the listed origins (`https://app.example.com`). Browsers send cookies along whatever page
 * asks, and say in `Origin` which it is; clients that send no `Origin` are no browsers and pass.
 */
export type OriginPolicy = 'any' | 'same-host' | readonly string[]

/**
 * Whether the page that asks for a WebSocket may have it.
 *
 * @throws {TypeError} when a listed origin is none.
 */
export function compileOrigins(origins: OriginPolicy): (x: Exchange) => boolean {
  if (origins === 'any') return () => true
  if (origins === 'same-host') return (x) => matchOrigin(x, (origin) => isSameHost(origin, x.host))
  const listed = new Set(origins.map(toOrigin))
  return (x) => matchOrigin(x, (origin) => listed.has(origin.toLowerCase()))
}

/** The answer to a page that may not. */
export function refuseOrigin(service: string = GATEWAY_ID, what = 'WebSockets'): GatewayError {
  return new GatewayError(service, 403, `${what} from pages of this origin are not allowed`)
}

function matchOrigin(x: Exchange, matches: (origin: string) => boolean): boolean {
  const given = x.headers.get('origin')
  return given === undefined || (matches(given) && x.headers.getAll('origin').length === 1)
}

/** @throws {TypeError} for anything but scheme, host and, where it is not the scheme's own, port. */
function toOrigin(text: string): string {
  const lower = text.toLowerCase()
  if (!lower.includes('*') && URL.canParse(lower) && new URL(lower).origin === lower) return lower
  const expected = 'must be scheme and host as in https://app.example.com'
  throw new TypeError(`origin ${expected}, got ${JSON.stringify(text)}`)
}

/** Whether the page came from the host the request is for; a port that is the scheme's own may be left out. */
function isSameHost(origin: string, host: string): boolean {
  const scheme = /^https?:\/\//i.exec(origin)?.[0]
  if (scheme === undefined || !URL.canParse(origin) || !URL.canParse(scheme + host)) return false
  return new URL(origin).host === new URL(scheme + host).host
}
