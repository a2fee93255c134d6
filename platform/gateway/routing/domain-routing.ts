import type { Registry } from '../../../core/contracts/registry.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { createPerDomain, type DomainRegistries } from './domains.ts'
import type { RegistryRouting, Routing } from './routing.ts'

export interface DomainRoutingOptions {
  /** Routing of the default domain, closed together with this one. */
  readonly main: RegistryRouting
  readonly domains: DomainRegistries
  /** Creates the routing of a domain, with `main` as the fallback. */
  readonly create: (registry: Registry, domain: string, main: RegistryRouting) => Routing
}

interface DomainRouting extends Routing {
  /** Undefined once settled. */
  ready: Promise<void> | undefined
}

/**
 * Routes by the `Mx-Namespace` header (specification: Server API gateway; reference 9) to services
 * in that domain, or otherwise in the default domain. The routing of a domain is created on its
 * first request, and only if services are registered in the domain.
 */
export function createDomainRouting({ main, domains, create }: DomainRoutingOptions): Routing {
  const list = (): readonly Routing[] => [main, ...routings.values()]
  const routings = createPerDomain(domains, (registry, domain) => {
    const routing: DomainRouting = { ...create(registry, domain, main) }
    routing.ready = routing.ready?.then(() => {
      routing.ready = undefined
    })
    return routing
  })
  const find = (x: Exchange): DomainRouting | undefined =>
    routings.of(x.headers.get('mx-namespace'))

  return {
    route(x) {
      const routing = find(x)
      if (routing === undefined) return main.route(x)
      return routing.ready === undefined
        ? routing.route(x)
        : routing.ready.then(() => routing.route(x))
    },

    find: (service, x) => (find(x) ?? main).find(service, x),
    findConfigured: main.findConfigured,
    ready: main.ready,
    directories: () => list().flatMap((routing) => routing.directories()),
    caches: () => list().flatMap((routing) => routing.caches()),

    reconfigure(settled) {
      for (const routing of list()) routing.reconfigure(settled)
    },

    close() {
      routings.close()
      main.close()
    },
  }
}
