import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { joinName } from '../../../core/route.ts'
import type { Settings } from '../../settings/settings.ts'

type SlashSettings = Pick<Settings, 'resolver' | 'namespace' | 'encodedSlashServices'>

/** With it the host alone names the service, and a proxied path is the backend's alone. */
const BY_HOST = 'host'
const ENCODED_SLASH = /%2f/i

/** Whether some service may have `%2F` in the path of a request: the listener then leaves the decision to {@link createSlashCheck}. */
export function areEncodedSlashesServed({
  resolver,
  encodedSlashServices,
}: SlashSettings): boolean {
  return resolver === BY_HOST || encodedSlashServices.length > 0
}

/**
 * Rejects `%2F` in the path of a routed exchange, unless the request itself is sent on and its service may have it: calls are named by
 * their path. Undefined: the listener rejects all of them.
 */
export function createSlashCheck(settings: SlashSettings): ((x: Exchange) => void) | undefined {
  if (!areEncodedSlashesServed(settings)) return undefined
  const { resolver, namespace, encodedSlashServices } = settings
  const services = new Set(
    encodedSlashServices.map((name) => (name.includes('.') ? name : joinName(namespace, name))),
  )
  return ({ path, proxied, route }) => {
    if (!path.includes('%') || !ENCODED_SLASH.test(path)) return
    if (proxied && (resolver === BY_HOST || services.has(route!.service))) return
    throw new GatewayError(GATEWAY_ID, 400, 'the path must not contain %2F')
  }
}
