import type { Registry } from '../../../core/contracts/registry.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { createPerDomain, type Domains } from './domains.ts'
import type { RegistryRouting, Routing } from './routing.ts'

export interface DomainRoutingOptions {
  /** That of the default domain. Closed with this one. */
  readonly main: RegistryRouting
  readonly domains: Domains
  /** Routing to the services of a domain, else to those of `main`. */
  readonly create: (registry: Registry, domain: string, main: RegistryRouting) => Routing
}

interface Opened extends Routing {
  /** Undefined from when it is settled. */
  ready: Promise<void> | undefined
}

/**
 * Routing by the field `Mx-Namespace` (specification: Server API gateway; reference 9): services of that domain, else of the default
 * one. What a domain takes is made for its first request, and one where nothing is registered takes nothing.
 */
export function createDomainRouting({ main, domains, create }: DomainRoutingOptions): Routing {
  const list = (): readonly Routing[] => [main, ...routings.values()]
  const routings = createPerDomain(domains, (registry, domain) => {
    const routing: Opened = { ...create(registry, domain, main) }
    routing.ready = routing.ready?.then(() => {
      routing.ready = undefined
    })
    return routing
  })
  const find = (x: Exchange): Opened | undefined => routings.of(x.headers.get('mx-namespace'))

  return {
    route(x) {
      const routing = find(x)
      if (routing === undefined) return main.route(x)
      return routing.ready === undefined
        ? routing.route(x)
        : routing.ready.then(() => routing.route(x))
    },

    find: (service, x) => (find(x) ?? main).find(service, x),
    ready: main.ready,
    directories: () => list().flatMap((routing) => routing.directories()),
    caches: () => list().flatMap((routing) => routing.caches()),

    reconfigure(gone) {
      for (const routing of list()) routing.reconfigure(gone)
    },

    close() {
      routings.close()
      main.close()
    },
  }
}
