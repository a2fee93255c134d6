import type { Endpoint } from '../../contracts/registry.ts'
import { GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import { isBuiltInService } from '../../registry/built-in-services.ts'
import { HEALTH } from '../debug-endpoints.ts'

/**
 * Rejects calls to built-in services by browser navigation: a link, a typed address or a form (W3C Fetch Metadata),
 * unless the endpoint is declared read-only. Otherwise a link could trick an operator into changing something.
 *
 * @param declared the endpoint as registered by its service.
 * @throws {GatewayError} 403 if the call is rejected.
 */
export function checkNavigation(
  { headers, route }: Exchange,
  declared: Endpoint | undefined,
): void {
  const { service, endpoint } = route!
  if (!isBuiltInService(service) || headers.get('sec-fetch-mode') !== 'navigate') return
  if (endpoint === HEALTH || declared?.metadata['readOnly'] === 'true') return
  throw new GatewayError(
    service,
    403,
    `${service}.${endpoint} changes state and cannot be called by browser navigation (a link, the address bar or a form): use mx, the dashboard, or a script that sends Authorization`,
  )
}
