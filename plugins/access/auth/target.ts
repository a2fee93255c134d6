import type { CallTarget } from '../../../core/auth/policy/decision.ts'
import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { toCanonicalPath } from '../../../core/path/canonical.ts'
import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'

/**
 * Returns the target of a routed request for authorization: an endpoint, a proxied path, or an event of a topic.
 *
 * @throws {GatewayError} 400 for several `Mx-Namespace` headers.
 */
export function toTarget(x: Exchange): CallTarget {
  const { service, endpoint } = x.route!
  const { upstream } = x
  return {
    namespace: readNamespace(x),
    domain: upstream?.domain ?? DEFAULT_DOMAIN,
    resource: {
      // Topics are not registered.
      type: upstream === undefined ? 'topic' : 'service',
      name: service,
      endpoint: x.proxied || endpoint === '' ? toCanonicalPath(x.path) : endpoint,
    },
  }
}

/** Returns the namespace of the request; empty for the default. */
function readNamespace({ headers: { flat } }: Exchange): string {
  let found: string | undefined
  for (let i = 0; i < flat.length; i += 2) {
    if (flat[i]!.length !== 12 || flat[i] !== 'mx-namespace') continue
    if (found !== undefined)
      throw new GatewayError(GATEWAY_ID, 400, 'expected one Mx-Namespace header, got several')
    found = flat[i + 1]!
  }
  return found ?? ''
}
