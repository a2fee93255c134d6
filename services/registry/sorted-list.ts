import type { Registry, Service } from '../../core/contracts/registry.ts'
import type { Maybe } from '../../lib/async/maybe.ts'

/** Sorted services of a registry. */
export interface SortedList {
  /**
   * Returns all versions of all services, sorted by name and version. The list is sorted once per
   * change.
   */
  readonly list: () => Maybe<readonly Service[]>
  /** Stops listening to the registry. */
  readonly close: () => void
}

/**
 * Sorts the services of a registry and caches the order. An asynchronous registry may return more
 * than it has published, so its list is sorted unless it is the same object as before. A registry
 * without watches is sorted on each call.
 */
export function createSortedList(registry: Registry): SortedList {
  let changes = 0
  let listed: readonly Service[] | undefined
  let sorted: readonly Service[] = []
  let sortedAt = -1
  const stop = registry.watch?.(() => {
    changes++
  })

  const sort = (services: readonly Service[]): readonly Service[] => {
    listed = services
    sorted = [...services].sort(compareServices)
    return sorted
  }

  return {
    list() {
      const services = registry.listServices()
      if (services instanceof Promise)
        return services.then((resolved) => (resolved === listed ? sorted : sort(resolved)))
      // listServices() may expire entries, which increments `changes`, so compare afterwards.
      if (stop !== undefined && sortedAt === changes) return sorted
      sortedAt = changes
      return sort(services)
    },
    close: () => stop?.(),
  }
}

/** Compares services by name, then by version, both by code units. */
export function compareServices(
  a: Pick<Service, 'name' | 'version'>,
  b: Pick<Service, 'name' | 'version'>,
): number {
  return compareText(a.name, b.name) || compareText(a.version, b.version)
}

// Compares by code units, independent of the locale.
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
