import type { Registry } from '../../../core/contracts/registry.ts'
import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'
import type { Resolver } from '../../../core/route.ts'
import { RouteCache } from '../../../core/route-cache.ts'
import type { UpstreamOptions } from '../../../core/upstream/upstream.ts'
import createEndpoint from '../../../resolvers/endpoint.ts'
import type { Log } from '../../process/log.ts'
import { readVersion } from '../../process/version.ts'
import type { Settings } from '../../settings/settings.ts'
import { findResolver, type ResolverContext } from '../find-resolver.ts'
import { logOutage } from '../log-outage.ts'
import { createDomainRouting } from './domain-routing.ts'
import type { Domains } from './domains.ts'
import {
  createRouting,
  type RegistryRouting,
  type Routing,
  type RoutingOptions,
} from './routing.ts'

export interface GatewayRoutingOptions {
  readonly settings: Settings
  readonly registry: Registry
  readonly domains: Domains | undefined
  readonly upstream: (service: string) => UpstreamOptions
  readonly onServices: ResolverContext['onServices']
  readonly log: Log
}

/** Of a domain, which there may be many of. */
const DOMAIN_CACHE = { max: 1000, maxFailures: 100 }

/**
 * The routing of a gateway, by its settings.
 *
 * @throws {SettingsError} when there is no such resolver.
 */
export function createGatewayRouting(options: GatewayRoutingOptions): Routing {
  const { settings, registry, domains, upstream, onServices, log } = options
  const createResolver = findResolver(settings)
  const onWarning = (message: string): void => log.warn(message)
  const router = { namespace: settings.namespace, version: readVersion() }
  const cache = new RouteCache()
  // Domains come and go, what was counted stays.
  const { counts } = cache

  const create = (
    own: Pick<RoutingOptions, 'registry' | 'resolver' | 'fallback' | 'router'>,
    domain: string = DEFAULT_DOMAIN,
  ) => {
    const routing: RegistryRouting = createRouting({
      ...own,
      directory: {
        upstream: (service) => ({ ...upstream(service), domain }),
        onError: (service, error) => log.warn({ service, err: error }, 'registry failed'),
        onOutage: (state, outage) => logOutage(log, state, outage, routing.directory.size),
      },
    })
    return routing
  }
  const resolver = createResolver({ registry, onWarning, onServices })
  const main = create({ registry, resolver, router: { ...router, cache } })
  if (domains === undefined) return main
  return createDomainRouting({
    main,
    domains,
    create: (registry, domain, { resolver, finder }) =>
      create(
        {
          registry,
          resolver: createEndpoint({
            registry,
            inner: lend(resolver),
            domain: '',
            onWarning,
          }),
          fallback: finder,
          router: { ...router, cache: new RouteCache({ ...DOMAIN_CACHE, counts }) },
        },
        domain,
      ),
  })
}

/** A resolver that is not to be closed by who gets it. */
function lend(resolver: Resolver): Resolver {
  return {
    name: resolver.name,
    expected: resolver.expected,
    key: resolver.key,
    resolve: resolver.resolve,
    get generation() {
      return resolver.generation ?? 0
    },
  }
}
