import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { isSameHost } from '../../core/http/same-host.ts'
import { ID } from './id.ts'

/**
 * Lets through only what a page of the dashboard itself sends: browsers add cookies to whatever other pages of the same machine
 * send, whatever their port. What says nothing of pages may not either: programs have the RPC proxy.
 *
 * @throws {GatewayError} 403
 */
export function requireSameOrigin({ headers, host }: Exchange): void {
  const site = headers.get('sec-fetch-site')
  const [origin = '', ...others] = headers.getAll('origin')
  const isOwn =
    site === undefined ? others.length === 0 && isSameHost(origin, host) : site === 'same-origin'
  if (isOwn) return
  const detail =
    'only pages of the dashboard may do that: Sec-Fetch-Site must be same-origin, or Origin that of the dashboard'
  throw new GatewayError(ID, 403, detail)
}

/** Whether a browser has the page over TLS, which may end in front of the dashboard. */
export function isSecurePage({ headers, secure }: Exchange): boolean {
  return secure || headers.get('origin')?.startsWith('https://') === true
}
