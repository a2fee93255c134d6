import type { Registry } from '../../core/contracts/registry.ts'
import { ServiceCache, type ServiceCacheOptions } from '../../core/registry/service-cache.ts'
import { findMetadata } from '../../core/rpc/metadata.ts'
import type { FindUpstream } from '../../core/rpc/proxy-call.ts'
import type { FindUpstreamOptions } from '../../core/upstream/upstream-options.ts'
import { createPerDomain, type DomainRegistries } from '../gateway/routing/domains.ts'
import { withFallback } from '../gateway/routing/routing.ts'

export interface ProxyFinderOptions {
  /** Registry of the default domain. */
  readonly registry: Registry
  readonly domains: DomainRegistries
  readonly directory: ServiceCacheOptions & { readonly upstream: FindUpstreamOptions }
}

/** Finds the upstreams for forwarded calls. */
export interface ProxyFinder {
  readonly find: FindUpstream
  /** Returns the number of services in use. */
  readonly size: () => number
  /** Applies changed load balancing. */
  readonly reconfigure: () => void
  readonly close: () => void
}

/**
 * Finds services in the domain specified by the `mx-namespace` metadata, otherwise in the default
 * domain.
 */
export function createProxyFinder({
  registry,
  domains,
  directory,
}: ProxyFinderOptions): ProxyFinder {
  const main = new ServiceCache(registry, directory)
  const finders = createPerDomain(domains, (registry, domain) => {
    const upstream = (service: string) => directory.upstream(service, domain)
    const cache = new ServiceCache(registry, { ...directory, upstream })
    return { cache, finder: withFallback(cache, main), close: cache.close.bind(cache) }
  })
  const all = (): ServiceCache[] => [main, ...finders.values().map(({ cache }) => cache)]
  return {
    find(service, metadata) {
      const domain = findMetadata(metadata, 'mx-namespace')
      return (finders.of(domain)?.finder ?? main).find(service)
    },

    size: () => all().reduce((sum, { size }) => sum + size, 0),

    reconfigure() {
      for (const cache of all()) cache.reconfigure()
    },

    close() {
      finders.close()
      main.close()
    },
  }
}
