import type { Registry, Service } from '../../core/contracts/registry.ts'
import { toEntryBytes } from './entry.ts'

/** A version, and how long its entry is. */
export interface CountedVersion {
  readonly service: Service
  readonly bytes: number
}

/** What a registry holds, counted as it tells: what came and has not gone since. */
export interface RegistryUsage {
  /** Versions of all services. */
  readonly size: () => number
  /** Nodes of all versions. */
  readonly nodes: () => number
  readonly find: (service: Pick<Service, 'name' | 'version'>) => CountedVersion | undefined
  /** Bytes of the entries of all services. */
  readonly bytes: () => number
  /** Bytes of the entries of all versions of a service. */
  readonly bytesOf: (name: string) => number
  /**
   * A registered name that differs from `name` in letter case only; undefined: there is none, or `name` is registered, too, as a
   * registry that others fill may have both.
   */
  readonly findOtherCase: (name: string) => string | undefined
  /** Listens to the registry no more. */
  readonly close: () => void
}

/** @param domain that of the registry: entries name it. */
export function createRegistryUsage(registry: Registry, domain: string): RegistryUsage {
  const versions = new Map<string, CountedVersion>()
  const bytesByName = new Map<string, number>()
  /** Registered names by their form in lower case; each list has a name. */
  const names = new Map<string, readonly string[]>()
  let nodes = 0
  let totalBytes = 0
  const stop = registry.watch?.(({ type, service }) => {
    const key = toKey(service)
    const known = versions.get(key)
    const before = known?.bytes ?? 0
    nodes -= known?.service.nodes.length ?? 0
    if (type !== 'delete') nodes += service.nodes.length
    const bytes = type === 'delete' ? 0 : toEntryBytes(service, domain)
    if (type === 'delete') versions.delete(key)
    else versions.set(key, { service, bytes })
    totalBytes += bytes - before
    const all = (bytesByName.get(service.name) ?? 0) - before + bytes
    const isNew = !bytesByName.has(service.name)
    if (all > 0) bytesByName.set(service.name, all)
    else bytesByName.delete(service.name)
    const isGone = !bytesByName.has(service.name)
    if (isNew === isGone) return
    const lowerName = service.name.toLowerCase()
    const others = (names.get(lowerName) ?? []).filter((name) => name !== service.name)
    const registered = isGone ? others : [...others, service.name]
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

/** Neither of the two holds a blank. */
function toKey({ name, version }: Pick<Service, 'name' | 'version'>): string {
  return `${name} ${version}`
}
