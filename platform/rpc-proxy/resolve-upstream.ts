import type { Registry } from '../../core/contracts/registry.ts'
import { ServiceCache, type ServiceCacheOptions } from '../../core/registry/service-cache.ts'
import { findMetadata } from '../../core/rpc/metadata.ts'
import type { FindUpstream } from '../../core/rpc/proxy-call.ts'
import { createPerDomain, type Domains } from '../gateway/routing/domains.ts'
import { withFallback } from '../gateway/routing/routing.ts'

export interface ProxyFinderOptions {
  /** Of the default domain. */
  readonly registry: Registry
  readonly domains: Domains
  readonly directory: ServiceCacheOptions
}

/** Where calls go that the RPC proxy forwards. */
export interface ProxyFinder {
  readonly find: FindUpstream
  /** Services in use. */
  readonly size: () => number
  /** Takes over how nodes are chosen. */
  readonly reconfigure: () => void
  readonly close: () => void
}

/** Services of the domain that a call names in `mx-namespace`, else of the default one. */
export function createProxyFinder({
  registry,
  domains,
  directory,
}: ProxyFinderOptions): ProxyFinder {
  const main = new ServiceCache(registry, directory)
  const finders = createPerDomain(domains, (registry, domain) => {
    const upstream = (service: string) => ({ ...directory.upstream(service), domain })
    const own = new ServiceCache(registry, { ...directory, upstream })
    return { own, finder: withFallback(own, main), close: () => own.close() }
  })
  const all = (): ServiceCache[] => [main, ...finders.values().map(({ own }) => own)]
  return {
    find(service, metadata) {
      const domain = findMetadata(metadata, 'mx-namespace')
      return (finders.of(domain)?.finder ?? main).find(service)
    },

    size: () => all().reduce((sum, { size }) => sum + size, 0),

    reconfigure() {
      for (const one of all()) one.reconfigure()
    },

    close() {
      finders.close()
      main.close()
    },
  }
}
