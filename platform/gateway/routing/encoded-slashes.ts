import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { joinName } from '../../../core/route.ts'
import type { Settings } from '../../settings/settings.ts'

type SlashSettings = Pick<Settings, 'resolver' | 'namespace' | 'encodedSlashServices'>

/** Resolver that does not read the path, which is forwarded unchanged. */
const BY_HOST = 'host'
const ENCODED_SLASH = /%2f/i

/** Whether any service accepts `%2F` in paths: the listener then leaves the check to {@link createSlashCheck}. */
export function areEncodedSlashesServed({
  resolver,
  encodedSlashServices,
}: SlashSettings): boolean {
  return resolver === BY_HOST || encodedSlashServices.length > 0
}

/**
 * Rejects `%2F` in the path, unless the request is proxied to a service that accepts it: the path of a call names its endpoint.
 * Undefined if the listener rejects every `%2F`.
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
