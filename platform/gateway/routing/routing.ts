import type { Step } from '../../../core/chain.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { ServiceCache, type ServiceCacheOptions } from '../../../core/registry/service-cache.ts'
import type { Resolver } from '../../../core/route.ts'
import { RouteCache } from '../../../core/route-cache.ts'
import { createRouter, type RouterOptions } from '../../../core/router.ts'

/** Finds the nodes of services. */
export type Finder = RouterOptions['directory']

/** The way from requests to services. */
export interface Routing {
  /** Sets what a request is for. */
  readonly route: Step
  /** The nodes of a service that a request names itself; undefined when nobody registered it. */
  readonly find: (service: string, x: Exchange) => ReturnType<Finder['find']>
  /** Settled once requests are routed by what the registry says; undefined: they are already. */
  readonly ready: Promise<void> | undefined
  /** The services in use: of the default domain first, then of those there are besides. */
  readonly directories: () => readonly ServiceCache[]
  /** Their caches, in the same order. */
  readonly caches: () => readonly RouteCache[]
  /** Takes over how nodes are chosen; `gone` are services of which no node is missing any more. */
  readonly reconfigure: (gone: Iterable<string>) => void
  readonly close: () => void
}

/** One that others stand on. */
export interface RegistryRouting extends Routing {
  readonly resolver: Resolver
  readonly directory: ServiceCache
  /** The directory, and what it falls back on. */
  readonly finder: Finder
}

export interface RoutingOptions {
  readonly registry: Registry
  /** Closed with the routing. */
  readonly resolver: Resolver
  /** Asked for services that the registry does not have. */
  readonly fallback?: Finder
  readonly directory: ServiceCacheOptions
  readonly router: Omit<RouterOptions, 'resolver' | 'directory'>
}

/** Routing to the services of a registry. */
export function createRouting(options: RoutingOptions): RegistryRouting {
  const { registry, resolver, fallback, router } = options
  const { cache = new RouteCache() } = router
  const directory = new ServiceCache(registry, options.directory)
  const finder = fallback === undefined ? directory : withFallback(directory, fallback)
  return {
    resolver,
    directory,
    finder,
    route: createRouter({ ...router, cache, resolver, directory: finder }),
    find: (service) => finder.find(service),
    ready: resolver.ready ?? undefined,
    directories: () => [directory],
    caches: () => [cache],
    reconfigure(gone) {
      directory.settle(gone)
      directory.reconfigure()
    },
    close() {
      resolver.close?.()
      directory.close()
    },
  }
}

/** Services that the first knows, else those of the second. */
export function withFallback(first: Finder, second: Finder): Finder {
  return {
    /** Both only rise. */
    get generation() {
      return first.generation + second.generation
    },

    find(service) {
      const found = first.find(service)
      if (found instanceof Promise)
        return found.then((upstream) => upstream ?? second.find(service))
      return found ?? second.find(service)
    },
  }
}
