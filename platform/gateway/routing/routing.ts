import type { Step } from '../../../core/chain.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { ServiceCache, type ServiceCacheOptions } from '../../../core/registry/service-cache.ts'
import type { Resolver } from '../../../core/route.ts'
import { RouteCache } from '../../../core/route-cache.ts'
import { createRouter, type RouterOptions } from '../../../core/router.ts'

export type Finder = RouterOptions['directory']

/** Resolves requests to services and their nodes. */
export interface Routing {
  /** Sets the route of a request. */
  readonly route: Step
  /**
   * Returns the nodes of a service that the request names explicitly, or undefined if it is not
   * registered.
   */
  readonly find: (service: string, x: Exchange) => ReturnType<Finder['find']>
  /**
   * Returns the nodes of a service named in the configuration. The service belongs to the default
   * domain, regardless of the domain that the request selects.
   */
  readonly findConfigured: (service: string) => ReturnType<Finder['find']>
  /** Settles once the registry has been read; undefined if it already is. */
  readonly ready: Promise<void> | undefined
  /** Service caches, starting with the default domain. */
  readonly directories: () => readonly ServiceCache[]
  /** Route caches in the same order. */
  readonly caches: () => readonly RouteCache[]
  /**
   * Applies changed load balancing. Missing nodes of the services in `settled` are no longer
   * retained.
   */
  readonly reconfigure: (settled: Iterable<string>) => void
  readonly close: () => void
}

export interface RegistryRouting extends Routing {
  readonly resolver: Resolver
  readonly directory: ServiceCache
  /** The directory with its fallback. */
  readonly finder: Finder
}

export interface RoutingOptions {
  readonly registry: Registry
  /** Closed together with the routing. */
  readonly resolver: Resolver
  /** Used for services that are not in the registry. */
  readonly fallback?: Finder
  readonly directory: ServiceCacheOptions
  readonly router: Omit<RouterOptions, 'resolver' | 'directory'>
}

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
    findConfigured: (service) => finder.find(service),
    ready: resolver.ready ?? undefined,
    directories: () => [directory],
    caches: () => [cache],
    reconfigure(settled) {
      directory.settle(settled)
      directory.reconfigure()
    },
    close() {
      resolver.close?.()
      directory.close()
    },
  }
}

/** Finds services in `first`, otherwise in `second`. */
export function withFallback(first: Finder, second: Finder): Finder {
  return {
    // Both generations only increase, and therefore their sum does as well.
    get generation() {
      return first.generation + second.generation
    },

    find(service) {
      const upstream = first.find(service)
      if (upstream instanceof Promise)
        return upstream.then((upstream) => upstream ?? second.find(service))
      return upstream ?? second.find(service)
    },
  }
}
