import { createStaticRegistry } from '../../adapters/registry/static.ts'
import type { Registry, Service } from '../../core/contracts/registry.ts'
import { createRegistryWatchers } from '../../core/registry/event-hub.ts'
import { DEFAULT_DOMAIN, isSameService } from '../../core/registry/service.ts'
import { parseRoutes, toRoutes } from '../../domain/mesh/registry/entry.ts'
import { createJoinedRegistry } from '../../domain/mesh/registry/mesh-registry.ts'
import type { FallbackServices } from '../../domain/mesh/registry/mesh-watch.ts'
import type { DomainRegistries } from './routing/domains.ts'

/** Routes from the last registration of a service. */
export interface KnownProgram {
  readonly domain: string
  readonly name: string
  /** See {@link toRoutes}. */
  readonly versions: readonly object[]
}

/**
 * Services that the runtime is expected to run. Requests to them fail with 503 instead of 404 while
 * they have no nodes. After a server restart, they are restored from the runtime's records.
 */
export interface ExpectedServices {
  /**
   * @param service without nodes. Its metadata and endpoints are replaced by its last registration.
   */
  readonly add: (domain: string, service: Service) => void
  readonly remove: (domain: string, service: Pick<Service, 'name' | 'version'>) => void
  /** Adds missing expected services to the registry of the default domain. */
  readonly join: (registry: Registry) => Registry
  /** Like {@link join}, for other domains. */
  readonly joinDomains: (domains: DomainRegistries) => DomainRegistries
  /** Lists the expected services that declare a path, for {@link restore}. */
  readonly listKnown: () => KnownProgram[]
  /** Restores routes from an earlier process until their services register again. */
  readonly restore: (programs: readonly KnownProgram[]) => void
  /** Watches for changed metadata or endpoints of a service. */
  readonly watch: Required<Registry>['watch']
}

/** Expected services of one domain. */
interface Expected extends FallbackServices {
  readonly size: () => number
  readonly add: (service: Service) => void
  readonly remove: (name: string, version: string) => void
  /** Sets the metadata and endpoints of a service that has not registered yet. */
  readonly restore: (service: Service) => void
  /** Updates metadata and endpoints from a registration. @returns whether they changed. */
  readonly describe: (service: Service) => boolean
}

export function createExpectedServices(): ExpectedServices {
  const expected = new Map<string, Expected>()
  const joined = new WeakMap<Registry, Registry>()
  const { watch, emit } = createRegistryWatchers()
  /** Registries of domains in which nothing is registered yet. */
  const empty = new Map<string, Registry>()

  function of(domain: string): Expected {
    const existing = expected.get(domain) ?? createExpected()
    expected.set(domain, existing)
    return existing
  }

  function join(domain: string, registry: Registry): Registry {
    const existing = joined.get(registry)
    if (existing !== undefined) return existing
    const services = of(domain)
    const watchable = { ...registry, watch: registry.watch! }
    registry.watch!((event) => {
      if (event.type !== 'delete' && services.describe(event.service)) emit(event)
    })
    // The registry takes precedence if both contain a service.
    const joinedRegistry = createJoinedRegistry(watchable, services, () => true)
    joined.set(registry, joinedRegistry)
    return joinedRegistry
  }

  function findEmpty(domain: string): Registry | undefined {
    if ((expected.get(domain)?.size() ?? 0) === 0) return undefined
    const existing = empty.get(domain) ?? createStaticRegistry([])
    empty.set(domain, existing)
    return existing
  }

  return {
    add: (domain, service) => of(domain).add(service),
    remove: (domain, { name, version }) => of(domain).remove(name, version),
    join: (registry) => join(DEFAULT_DOMAIN, registry),
    joinDomains: ({ find }) => ({
      find(domain) {
        const registry = find(domain) ?? findEmpty(domain)
        return registry === undefined ? undefined : join(domain, registry)
      },
    }),
    watch,

    listKnown: () =>
      [...expected].flatMap(([domain, services]) =>
        services
          .listServices()
          .filter(({ endpoints }) =>
            endpoints.some(({ metadata }) => metadata['path'] !== undefined),
          )
          .map((service) => ({ domain, name: service.name, versions: toRoutes([service]) })),
      ),

    restore(programs) {
      for (const { domain, name, versions } of programs)
        for (const service of parseRoutes(name, versions)) expected.get(domain)?.restore(service)
    },
  }
}

function createExpected(): Expected {
  /** Services by name, then version. */
  const services = new Map<string, Map<string, Service>>()
  const { watch, emit } = createRegistryWatchers()
  const find = (name: string, version: string) => services.get(name)?.get(version)

  return {
    watch,
    size: () => services.size,
    getService: (name) => [...(services.get(name)?.values() ?? [])],
    listServices: () => [...services.values()].flatMap((versions) => [...versions.values()]),

    add(service) {
      const { name, version } = service
      const versions = services.get(name) ?? new Map<string, Service>()
      if (versions.has(version)) return
      services.set(name, versions.set(version, service))
      emit({ type: 'create', service })
    },

    remove(name, version) {
      const versions = services.get(name)
      const service = find(name, version)
      if (versions === undefined || service === undefined) return
      versions.delete(version)
      if (versions.size === 0) services.delete(name)
      emit({ type: 'delete', service })
    },

    restore(service) {
      const { name, version } = service
      if (find(name, version)?.endpoints.length !== 0) return
      services.get(name)!.set(version, service)
      emit({ type: 'update', service })
    },

    describe({ name, version, metadata, endpoints }) {
      const previous = find(name, version)
      const service = { name, version, metadata, endpoints, nodes: [] }
      if (previous === undefined || endpoints.length === 0 || isSameService(previous, service))
        return false
      services.get(name)!.set(version, service)
      return true
    },
  }
}
