import type { Registry } from '../core/contracts/registry.ts'
import type { Exchange } from '../core/exchange.ts'
import { DEFAULT_DOMAIN } from '../core/service-entry.ts'
import type { OwnRouting, Routing } from './routing.ts'

/** The domains there are, each a set of services that knows nothing of the others. */
export interface Domains {
  /** The registry of a domain; undefined: nothing is registered in it. Asked for every request. */
  readonly find: (domain: string) => Registry | undefined
}

export interface DomainRoutingOptions {
  /** That of the default domain. Closed with this one. */
  readonly main: OwnRouting
  readonly domains: Domains
  /** Routing to the services of a domain, else to those of `main`. */
  readonly create: (registry: Registry, main: OwnRouting) => Routing
}

interface OpenDomain {
  readonly registry: Registry
  readonly routing: Routing
  /** See {@link Routing.ready}. */
  ready: Promise<void> | undefined
}

const FIELD = 'mx-namespace'

/**
 * Routing by the field `Mx-Namespace` (specification: Server API gateway; reference 9): services of that domain, else of the default
 * one. What a domain takes is made for its first request and dropped when it is gone; one where nothing is registered takes
 * nothing.
 */
export function createDomainRouting({ main, domains, create }: DomainRoutingOptions): Routing {
  const opened = new Map<string, OpenDomain>()

  function find(x: Exchange): OpenDomain | undefined {
    const name = x.headers.get(FIELD)
    if (name === undefined || name === DEFAULT_DOMAIN) return undefined
    const registry = domains.find(name)
    const known = opened.get(name)
    if (registry === undefined || known?.registry === registry) return registry && known
    sweep()
    const routing = create(registry, main)
    const domain: OpenDomain = { registry, routing, ready: undefined }
    domain.ready = routing.ready?.then(() => {
      domain.ready = undefined
    })
    opened.set(name, domain)
    return domain
  }

  /** Drops domains that are gone, or have another registry. */
  function sweep(): void {
    for (const [name, { registry, routing }] of opened) {
      if (domains.find(name) === registry) continue
      opened.delete(name)
      routing.close()
    }
  }

  return {
    route(x) {
      const domain = find(x)
      if (domain === undefined) return main.route(x)
      const { routing, ready } = domain
      return ready === undefined ? routing.route(x) : ready.then(() => routing.route(x))
    },

    find: (service, x) => (find(x)?.routing ?? main).find(service, x),
    ready: main.ready,

    reconfigure(gone) {
      main.reconfigure(gone)
      for (const { routing } of opened.values()) routing.reconfigure(gone)
    },

    close() {
      for (const { routing } of opened.values()) routing.close()
      opened.clear()
      main.close()
    },
  }
}
