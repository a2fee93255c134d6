import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { toFullName } from '../../config/configured-services.ts'
import type { Configuration } from '../../config/types.ts'

/** Resolver that ignores the path, which is forwarded unchanged. */
const BY_HOST = 'host'
const ENCODED_SLASH = /%2f/i

/** Returns the full names of the services that accept `%2F` in paths. */
function listServices({ settings, config }: Configuration): ReadonlySet<string> {
  const enabled = config.services.flatMap(({ name, encodedSlash }) => (encodedSlash ? [name] : []))
  return new Set(
    [...settings.encodedSlashServices, ...enabled].map((name) =>
      toFullName(name, settings.namespace),
    ),
  )
}

/**
 * Returns whether any service accepts `%2F` in paths. The listener then leaves the check to {@link
 * createSlashCheck}.
 */
export function acceptsEncodedSlashes({ settings, config }: Configuration): boolean {
  return (
    settings.resolver === BY_HOST ||
    settings.encodedSlashServices.length > 0 ||
    config.services.some(({ encodedSlash }) => encodedSlash)
  )
}

/**
 * Creates a check that rejects `%2F` in the path unless the request is proxied to a service that
 * accepts it. For calls, the path names the endpoint. Returns undefined if the listener rejects
 * every `%2F`.
 */
export function createSlashCheck(
  configuration: Configuration,
): ((x: Exchange) => void) | undefined {
  if (!acceptsEncodedSlashes(configuration)) return undefined
  const isByHost = configuration.settings.resolver === BY_HOST
  const services = listServices(configuration)
  return ({ path, proxied, route }) => {
    if (!path.includes('%') || !ENCODED_SLASH.test(path)) return
    if (proxied && (isByHost || services.has(route!.service))) return
    throw new GatewayError(GATEWAY_ID, 400, 'the path must not contain %2F')
  }
}
