import type { Registry } from '../../../core/contracts/registry.ts'
import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'

/** The domains except the default domain. Each domain is an isolated set of services. */
export interface DomainRegistries {
  /**
   * Returns the registry of a domain, or undefined if nothing is registered in it. Called for each
   * request.
   */
  readonly find: (domain: string) => Registry | undefined
}

/** Lazily created values by domain. */
export interface PerDomain<T> {
  /** Returns undefined for the default domain and for domains without services. */
  readonly of: (domain: string | undefined) => T | undefined
  readonly values: () => T[]
  readonly close: () => void
}

/**
 * Creates a value for each domain on first use. Values of removed domains are closed when another
 * value is created.
 */
export function createPerDomain<T extends { readonly close: () => void }>(
  domains: DomainRegistries,
  create: (registry: Registry, name: string) => T,
): PerDomain<T> {
  const created = new Map<string, { readonly registry: Registry; readonly value: T }>()

  function sweep(): void {
    for (const [name, { registry, value }] of created) {
      if (domains.find(name) === registry) continue
      created.delete(name)
      value.close()
    }
  }

  return {
    of(name) {
      if (name === undefined || name === '' || name === DEFAULT_DOMAIN) return undefined
      const registry = domains.find(name)
      if (registry === undefined) return undefined
      const cached = created.get(name)
      if (cached?.registry === registry) return cached.value
      sweep()
      const value = create(registry, name)
      created.set(name, { registry, value })
      return value
    },

    values: () => [...created.values()].map(({ value }) => value),

    close() {
      for (const { value } of created.values()) value.close()
      created.clear()
    },
  }
}
