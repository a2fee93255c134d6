import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { isSameHost } from '../../core/http/host/same-host.ts'
import { ID } from './id.ts'

/**
 * Rejects requests not sent by a page of the dashboard (CSRF): browsers include its cookies in
 * requests from pages on other ports of the host. Requests without an origin are also rejected,
 * because programs use the RPC proxy.
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

/** Returns whether the browser uses TLS, which a proxy may terminate. */
export function isSecurePage({ headers, secure }: Exchange): boolean {
  return secure || headers.get('origin')?.startsWith('https://') === true
}
