import type { Registry } from '../../../core/contracts/registry.ts'
import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'

/** The domains there are besides the default one, each a set of services that knows nothing of the others. */
export interface Domains {
  /** The registry of a domain; undefined: nothing is registered in it. Asked for every request. */
  readonly find: (domain: string) => Registry | undefined
}

/** Things that are made for domains. */
export interface PerDomain<T> {
  /** That of a domain; undefined for the default one, and one where nothing is registered. */
  readonly of: (domain: string | undefined) => T | undefined
  readonly values: () => T[]
  readonly close: () => void
}

/** Makes a thing for each domain when it is first asked for. Those of domains that are gone are dropped as others are made. */
export function createPerDomain<T extends { readonly close: () => void }>(
  domains: Domains,
  create: (registry: Registry, name: string) => T,
): PerDomain<T> {
  const made = new Map<string, { readonly registry: Registry; readonly thing: T }>()

  function sweep(): void {
    for (const [name, { registry, thing }] of made) {
      if (domains.find(name) === registry) continue
      made.delete(name)
      thing.close()
    }
  }

  return {
    of(name) {
      if (name === undefined || name === '' || name === DEFAULT_DOMAIN) return undefined
      const registry = domains.find(name)
      if (registry === undefined) return undefined
      const known = made.get(name)
      if (known?.registry === registry) return known.thing
      sweep()
      const thing = create(registry, name)
      made.set(name, { registry, thing })
      return thing
    },

    values: () => [...made.values()].map(({ thing }) => thing),

    close() {
      for (const { thing } of made.values()) thing.close()
      made.clear()
    },
  }
}
