import type { Registry, Service } from '../../core/contracts/registry.ts'
import type { Maybe } from '../../lib/async/maybe.ts'

/** The services of a registry in order. */
export interface SortedList {
  /** All versions of all services, by name and version. Sorted once per change, however often it is asked for. */
  readonly list: () => Maybe<readonly Service[]>
  /** Listens to the registry no more. */
  readonly close: () => void
}

/**
 * Orders the services of a registry. One that answers later may know more than it has told: what it lists is sorted unless it is the
 * very list of before. One that tells of no changes is sorted each time.
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
        return services.then((later) => (later === listed ? sorted : sort(later)))
      // What has expired is told while the registry is asked.
      if (stop !== undefined && sortedAt === changes) return sorted
      sortedAt = changes
      return sort(services)
    },
    close: () => stop?.(),
  }
}

/** Order of services: by name, then by version, both by their characters' codes. */
export function compareServices(
  a: Pick<Service, 'name' | 'version'>,
  b: Pick<Service, 'name' | 'version'>,
): number {
  return compareText(a.name, b.name) || compareText(a.version, b.version)
}

/** By the codes of characters: whatever the language of the machine. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
