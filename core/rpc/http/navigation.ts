import type { Endpoint } from '../../contracts/registry.ts'
import { GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import { isOfPlatform } from '../../registry/built-in-services.ts'
import { HEALTH } from '../debug-endpoints.ts'

/**
 * Rejects a call of a built-in service that a browser makes by navigating, to a link, a typed address or the action of a form
 * (W3C Fetch Metadata), unless its endpoint is declared read-only. The operator need not know where a link leads.
 *
 * @param declared the endpoint as its service registered it.
 * @throws {GatewayError} 403
 */
export function checkNavigation(
  { headers, route }: Exchange,
  declared: Endpoint | undefined,
): void {
  const { service, endpoint } = route!
  if (!isOfPlatform(service) || headers.get('sec-fetch-mode') !== 'navigate') return
  if (endpoint === HEALTH || declared?.metadata['readOnly'] === 'true') return
  throw new GatewayError(
    service,
    403,
    `${service}.${endpoint} changes something, and browsers must not call it by a link, the address bar or a form: use mx, the dashboard, or a script that sends Authorization`,
  )
}
