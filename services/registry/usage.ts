import type { Registry, Service } from '../../core/contracts/registry.ts'
import { toEntryBytes } from './entry.ts'

/** A version with the size of its entry. */
export interface CountedVersion {
  readonly service: Service
  readonly bytes: number
}

/** Usage of a registry, counted from its events. */
export interface RegistryUsage {
  /** Returns the number of versions of all services. */
  readonly size: () => number
  /** Returns the number of nodes of all versions. */
  readonly nodes: () => number
  readonly find: (service: Pick<Service, 'name' | 'version'>) => CountedVersion | undefined
  /** Returns the size of all entries. */
  readonly bytes: () => number
  /** Returns the size of the entries of all versions of a service. */
  readonly bytesOf: (name: string) => number
  /**
   * Returns a registered name that differs from `name` only in letter case. Returns undefined if
   * there is no such name or if `name` itself is registered, because a registry filled by other
   * programs may contain both.
   */
  readonly findOtherCase: (name: string) => string | undefined
  /** Stops listening to the registry. */
  readonly close: () => void
}

/** @param domain domain of the registry, which entries include. */
export function createRegistryUsage(registry: Registry, domain: string): RegistryUsage {
  const versions = new Map<string, CountedVersion>()
  const bytesByName = new Map<string, number>()
  /** Registered names by lower-case name; lists are never empty. */
  const names = new Map<string, readonly string[]>()
  let nodes = 0
  let totalBytes = 0
  const stop = registry.watch?.(({ type, service }) => {
    const key = toKey(service)
    const previous = versions.get(key)
    const before = previous?.bytes ?? 0
    nodes -= previous?.service.nodes.length ?? 0
    if (type !== 'delete') nodes += service.nodes.length
    const bytes = type === 'delete' ? 0 : toEntryBytes(service, domain)
    if (type === 'delete') versions.delete(key)
    else versions.set(key, { service, bytes })
    totalBytes += bytes - before
    const all = (bytesByName.get(service.name) ?? 0) - before + bytes
    const isNew = !bytesByName.has(service.name)
    if (all > 0) bytesByName.set(service.name, all)
    else bytesByName.delete(service.name)
    const isRemoved = !bytesByName.has(service.name)
    if (isNew === isRemoved) return
    const lowerName = service.name.toLowerCase()
    const otherNames = (names.get(lowerName) ?? []).filter((name) => name !== service.name)
    const registered = isRemoved ? otherNames : [...otherNames, service.name]
    if (registered.length > 0) names.set(lowerName, registered)
    else names.delete(lowerName)
  })

  return {
    size: () => versions.size,
    nodes: () => nodes,
    bytes: () => totalBytes,
    find: (service) => versions.get(toKey(service)),
    bytesOf: (name) => bytesByName.get(name) ?? 0,
    findOtherCase(name) {
      return bytesByName.has(name) ? undefined : names.get(name.toLowerCase())?.[0]
    },
    close: () => stop?.(),
  }
}

// Neither part contains a space.
function toKey({ name, version }: Pick<Service, 'name' | 'version'>): string {
  return `${name} ${version}`
}
