import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { isSameHost } from '../../core/http/host/same-host.ts'
import { ID } from './id.ts'

/**
 * Rejects requests that a page of the dashboard did not send (CSRF): browsers add its cookies to requests of pages on other ports of
 * the host. Requests without origin are rejected, too: programs use the RPC proxy.
 *
 * @throws {GatewayError} 403
 */
export function requireSameOrigin({ headers, host }: Exchange): void {
  const site = headers.get('sec-fetch-site')
  const [origin = '', ...duplicates] = headers.getAll('origin')
  const isSameOrigin =
    site === undefined
      ? duplicates.length === 0 && isSameHost(origin, host)
      : site === 'same-origin'
  if (isSameOrigin) return
  const detail =
    'only allowed for pages of the dashboard: Sec-Fetch-Site must be same-origin, or Origin must match the dashboard'
  throw new GatewayError(ID, 403, detail)
}

/** Whether the browser uses TLS, which may be terminated by a proxy. */
export function isSecurePage({ headers, secure }: Exchange): boolean {
  return secure || headers.get('origin')?.startsWith('https://') === true
}
