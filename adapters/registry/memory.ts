import type { Node, Registry, Service } from '../../core/contracts/registry.ts'
import { createRegistryWatchers } from '../../core/registry/event-hub.ts'
import { checkService, isSameMap, isSameNode } from '../../core/registry/service.ts'
import { createExpiryWheel } from '../../lib/collections/expiry-wheel.ts'

export interface MemoryRegistryOptions {
  /** Monotonic clock in milliseconds. @default performance.now */
  readonly nowMs?: () => number
  /** Interval of the sweep for expired nodes in milliseconds. @default 1000 */
  readonly sweepMs?: number
}

/** A registry that returns results synchronously. */
export interface MemoryRegistry extends Registry {
  readonly getService: (name: string) => readonly Service[]
  readonly listServices: () => readonly Service[]
  readonly register: NonNullable<Registry['register']>
  readonly deregister: NonNullable<Registry['deregister']>
  readonly watch: NonNullable<Registry['watch']>
  readonly close: () => void
}

/**
 * One version with the leases of its nodes by id. The node with the latest description comes last.
 */
interface Entry {
  service: Service
  /** The latest description. */
  description: Service
  readonly leases: Map<string, Lease>
}

interface Lease {
  readonly entry: Entry
  readonly id: string
  /** The service as described by the node. Nodes with the same description share it. */
  description: Service
}

/**
 * Registry in the memory of this process.
 *
 * @throws {TypeError} (`register`) if a name, version, node id or address is malformed, or there
 * are no nodes.
 */
export function createMemoryRegistry({
  nowMs = () => performance.now(),
  sweepMs = 1000,
}: MemoryRegistryOptions = {}): MemoryRegistry {
  /** Services by name, then version. */
  const services = new Map<string, Map<string, Entry>>()
  const { watch, emit } = createRegistryWatchers()
  const expiry = createExpiryWheel<Lease>()
  const sweeper = setInterval(expire, sweepMs).unref()

  function find({ name, version }: Service): Entry | undefined {
    return services.get(name)?.get(version)
  }

  /** Removes the nodes for which `isRetained` returns false. */
  function retain(entry: Entry, isRetained: (node: Node) => boolean): void {
    const { service, leases } = entry
    const nodes = service.nodes.filter(isRetained)
    if (nodes.length === service.nodes.length) return
    const remaining = new Set(nodes.map(({ id }) => id))
    for (const [id, lease] of leases) {
      if (remaining.has(id)) continue
      leases.delete(id)
      expiry.delete(lease)
    }
    entry.description = [...leases.values()].at(-1)?.description ?? entry.description
    entry.service = { ...entry.description, nodes }
    if (nodes.length > 0) return emit({ type: 'update', service: entry.service })
    const versions = services.get(service.name)!
    versions.delete(service.version)
    if (versions.size === 0) services.delete(service.name)
    emit({ type: 'delete', service: entry.service })
  }

  function expire(): void {
    const expired = new Map<Entry, Set<string>>()
    for (const { entry, id } of expiry.takeDue(nowMs()))
      expired.set(entry, (expired.get(entry) ?? new Set()).add(id))
    for (const [entry, ids] of expired) retain(entry, ({ id }) => !ids.has(id))
  }

  return {
    name: 'memory',

    getService(name) {
      expire()
      return [...(services.get(name)?.values() ?? [])].map(({ service }) => service)
    },

    listServices() {
      expire()
      return [...services.values()].flatMap((versions) =>
        [...versions.values()].map(({ service }) => service),
      )
    },

    register(service, { ttlSeconds = 0 } = {}) {
      checkService(service)
      if (service.nodes.length === 0)
        throw new TypeError(`service ${service.name} must be registered with at least one node`)
      expire()
      const expiryMs = ttlSeconds > 0 ? nowMs() + ttlSeconds * 1000 : Number.POSITIVE_INFINITY
      const old = find(service)
      const nodes = new Map(old?.service.nodes.map((node) => [node.id, node]))
      let changed = false
      for (const node of service.nodes) {
        const known = nodes.get(node.id)
        if (known !== undefined && isSameNode(known, node)) continue
        nodes.set(node.id, { ...node, metadata: { ...node.metadata } })
        changed = true
      }
      const description =
        old !== undefined && isSameDescription(old.description, service)
          ? old.description
          : { ...service, metadata: { ...service.metadata }, nodes: [] }
      const entry: Entry = old ?? { service, description, leases: new Map() }
      for (const { id } of service.nodes) {
        const known = entry.leases.get(id)
        const lease = known ?? { entry, id, description }
        expiry.set(lease, expiryMs)
        // A heartbeat or draining state of an older node must not override the description of a
        // newer one.
        if (known?.description === description) continue
        if (known !== undefined && isSameDescription(known.description, service)) continue
        lease.description = description
        entry.leases.delete(id)
        entry.leases.set(id, lease)
        changed ||= entry.description !== description
        entry.description = description
      }
      if (!changed) return
      entry.service = { ...entry.description, nodes: [...nodes.values()] }
      if (old === undefined) {
        const versions = services.get(service.name) ?? new Map<string, Entry>()
        services.set(service.name, versions.set(service.version, entry))
      }
      emit({ type: old === undefined ? 'create' : 'update', service: entry.service })
    },

    deregister(service) {
      expire()
      const entry = find(service)
      const ids = new Set(service.nodes.map(({ id }) => id))
      if (entry !== undefined) retain(entry, ({ id }) => !ids.has(id))
    },

    watch,

    close() {
      clearInterval(sweeper)
    },
  }
}

/** Returns whether metadata and endpoints are equal. */
function isSameDescription(a: Service, b: Service): boolean {
  return (
    isSameMap(a.metadata, b.metadata) && JSON.stringify(a.endpoints) === JSON.stringify(b.endpoints)
  )
}
