import type { Registry } from '../../../core/contracts/registry.ts'
import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'
import type { Resolver } from '../../../core/route.ts'
import { RouteCache } from '../../../core/route-cache.ts'
import type { FindUpstreamOptions } from '../../../core/upstream/upstream-options.ts'
import createEndpoint from '../../../resolvers/endpoint.ts'
import type { Log } from '../../process/log.ts'
import { readVersion } from '../../process/version.ts'
import type { Settings } from '../../settings/settings.ts'
import { findResolver, type ResolverContext } from '../find-resolver.ts'
import { logOutage } from '../log-outage.ts'
import {
  buildRouteTable,
  type ConfiguredRoutes,
  createConfiguredRoutes,
} from '../routes/configured-routes.ts'
import { createDomainRouting } from './domain-routing.ts'
import type { DomainRegistries } from './domains.ts'
import {
  createRouting,
  type RegistryRouting,
  type Routing,
  type RoutingOptions,
} from './routing.ts'

export interface GatewayRoutingOptions {
  readonly settings: Settings
  readonly registry: Registry
  readonly domains: DomainRegistries | undefined
  readonly upstream: FindUpstreamOptions
  readonly onServices: ResolverContext['onServices']
  /** Configured routes, which take precedence over all other results of the resolver. */
  readonly routes?: ConfiguredRoutes
  readonly log: Log
}

/** Size of a domain's route cache, which is smaller because there may be many domains. */
const DOMAIN_CACHE = { max: 1000, maxFailures: 100 }

/**
 * Creates the routing of a gateway according to its settings.
 *
 * @throws {SettingsError} for an unknown resolver.
 */
export function createGatewayRouting({
  settings,
  registry,
  domains,
  upstream,
  onServices,
  routes: { wrap } = createConfiguredRoutes(buildRouteTable([])),
  log,
}: GatewayRoutingOptions): Routing {
  const createResolver = findResolver(settings)
  const onWarning = (message: string): void => log.warn(message)
  const router = { namespace: settings.namespace, version: readVersion() }
  const cache = new RouteCache()
  // All domains share the counters, which outlive the domains.
  const { counts } = cache

  const create = (
    options: Pick<RoutingOptions, 'registry' | 'resolver' | 'fallback' | 'router'>,
    domain: string = DEFAULT_DOMAIN,
  ) => {
    const routing: RegistryRouting = createRouting({
      ...options,
      directory: {
        upstream: (service) => upstream(service, domain),
        onError: (service, error) => log.warn({ service, err: error }, 'registry failed'),
        onOutage: (state, outage) => logOutage(log, state, outage, routing.directory.size),
      },
    })
    return routing
  }
  const resolver = wrap(createResolver({ registry, onWarning, onServices }))
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
            inner: withoutClose(resolver),
            domain: '',
            onWarning,
          }),
          fallback: finder,
          // Configured routes always use services of the default domain, because their requests
          // contain configured headers.
          router: {
            ...router,
            configured: finder,
            cache: new RouteCache({ ...DOMAIN_CACHE, counts }),
          },
        },
        domain,
      ),
  })
}

/** Returns the resolver without `close`, for a routing that does not own it. */
function withoutClose(resolver: Resolver): Resolver {
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
