import type { Node, Registry, RegistryEvent, Service } from '../../../core/contracts/registry.ts'
import { createRegistryWatchers } from '../../../core/registry/event-hub.ts'
import { findServerId, isShared, toServerKey } from '../names.ts'
import type { Route, RouteTable } from '../routing-table.ts'
import { parseRoutes, parseVersions, toRoutes } from './entry.ts'
import type { FallbackServices } from './mesh-watch.ts'
import { createUnreachableServices } from './unreachable-services.ts'

export interface RouteRegistryOptions {
  readonly table: Pick<RouteTable, 'find' | 'findLocal' | 'keys'>
  /** Returns the node for calls to a peer. */
  readonly findNode: (peer: string) => Node | undefined
  /** Monotonic clock in milliseconds. @default performance.now */
  readonly nowMs?: () => number
}

/** A stored service of other servers, to be restored after a restart. */
export interface KnownService {
  readonly name: string
  /** See {@link toRoutes}. */
  readonly versions: readonly object[]
  /** Ids of the servers that provide it. */
  readonly owners: readonly string[]
  /** Milliseconds since it became unreachable; 0 if reachable. */
  readonly ageMs: number
}

/**
 * Services of other servers. Their nodes are the peers that calls are sent to. If a service
 * disappears while its server is unreachable over any number of links, it is missing: it remains
 * listed without nodes, so that requests return 503 rather than 404. If a service disappears while
 * its server is reachable, it was withdrawn.
 */
export interface RouteRegistry extends Pick<Registry, 'name'>, FallbackServices {
  /**
   * Updates the routes of a destination. Servers must be updated before the services that become
   * missing with them.
   */
  readonly changed: (key: string) => void
  /** Returns the services of other servers, for {@link restore}. */
  readonly listKnown: () => KnownService[]
  /** Adds services from an earlier process as missing until there is a route to them. */
  readonly restore: (known: readonly KnownService[]) => void
  /** Drops services that have been missing for too long. Called periodically. */
  readonly sweep: () => void
  readonly close: () => void
}

/** Parts of a route that affect its service. */
interface Part {
  /** Id of the server that provides it. */
  readonly owner: string
  readonly node: string | undefined
  readonly hops: number
  readonly entry: string
}

/** Last published state of a service. */
interface View {
  /** Parts of the routes; empty if the service is missing. */
  readonly parts: readonly Part[]
  readonly services: readonly Service[]
}

const SWEEP_MS = 5000

export function createRouteRegistry(options: RouteRegistryOptions): RouteRegistry {
  const { table, findNode, nowMs = () => performance.now() } = options
  const { watch, emit } = createRegistryWatchers()
  const views = new Map<string, View>()
  const isReachable = (server: string): boolean => table.find(toServerKey(server)) !== undefined
  const unreachable = createUnreachableServices({ isReachable, nowMs })
  const sweeper = setInterval(sweep, SWEEP_MS).unref()

  function getService(name: string): readonly Service[] {
    const route = findServerId(name) === undefined ? table.find(name) : undefined
    return route === undefined
      ? (unreachable.get(name)?.services ?? [])
      : toServices(name, route, findNode)
  }

  function sweep(): void {
    forget(unreachable.expire())
  }

  function forget(names: readonly string[]): void {
    for (const name of names) {
      const { services = [] } = views.get(name) ?? {}
      views.delete(name)
      for (const { version } of services)
        emit({ type: 'delete', service: toLostService(name, version) })
    }
  }

  /** Marks a service without routes as missing, unless it was withdrawn or is on this server. */
  function lose(name: string, { parts, services }: View): void {
    const owners = toOwners(parts)
    if (table.findLocal(name) !== undefined || owners.every(isReachable)) return
    const withoutNodes = services.map((service) => ({ ...service, nodes: [] }))
    const bytes = parts.reduce((sum, { entry }) => sum + Buffer.byteLength(entry), 0)
    forget(unreachable.add({ name, services: withoutNodes, owners, bytes, ageMs: 0 }))
  }

  return {
    name: 'network',
    getService,

    listServices: () => [
      ...[...table.keys()].flatMap((name) =>
        unreachable.get(name) === undefined ? getService(name) : [],
      ),
      ...unreachable.list().flatMap(({ services }) => services),
    ],

    changed(name) {
      if (findServerId(name) !== undefined) return
      const before = views.get(name)
      const parts = toParts(table.find(name), findNode)
      const isNowLocal = unreachable.get(name) !== undefined && table.findLocal(name) !== undefined
      if (isSame(before?.parts ?? [], parts) && !isNowLocal) {
        // Another server behind the same peers may now provide the service.
        if (before !== undefined) views.set(name, { ...before, parts })
        return
      }
      unreachable.release(name)
      if (parts.length === 0 && before !== undefined) lose(name, before)
      const services = getService(name)
      if (services.length === 0) views.delete(name)
      else views.set(name, { parts, services })
      const old = new Set(before?.services.map(({ version }) => version))
      const events: RegistryEvent[] = []
      for (const service of services)
        events.push({ type: old.delete(service.version) ? 'update' : 'create', service })
      for (const version of old)
        events.push({ type: 'delete', service: toLostService(name, version) })
      for (const event of events) emit(event)
    },

    listKnown: () => [
      ...unreachable.list().map(({ services, ...service }) => toKnown(services, service)),
      ...Array.from(views, ([name, { parts, services }]) =>
        toKnown(services, { name, owners: toOwners(parts), ageMs: 0 }),
      ).filter(({ owners }) => owners.length > 0),
    ],

    restore(known) {
      for (const { name, versions, owners, ageMs } of known) {
        const exists = views.has(name) || table.findLocal(name) !== undefined
        if (exists || !isShared(name)) continue
        const services = parseRoutes(name, versions)
        const bytes = Buffer.byteLength(name) + Buffer.byteLength(JSON.stringify(versions))
        views.set(name, { parts: [], services })
        forget(unreachable.add({ name, services, owners, bytes, ageMs }))
        for (const service of services) emit({ type: 'create', service })
      }
    },

    watch,
    sweep,
    close: () => clearInterval(sweeper),
  }
}

function toLostService(name: string, version: string): Service {
  return { name, version, metadata: {}, endpoints: [], nodes: [] }
}

function toKnown(
  services: readonly Service[],
  { name, owners, ageMs }: Pick<KnownService, 'name' | 'owners' | 'ageMs'>,
): KnownService {
  return { name, versions: toRoutes(services), owners, ageMs }
}

function toOwners(parts: readonly Part[]): string[] {
  return [...new Set(parts.map(({ owner }) => owner))]
}

/**
 * Returns the versions of a service. The nodes of each version are the peers whose routes provide
 * it.
 */
function toServices(
  name: string,
  { ways }: Route,
  findNode: RouteRegistryOptions['findNode'],
): Service[] {
  const versions = new Map<string, { service: Service; nodes: Node[] }>()
  for (const { path, entry } of ways) {
    const node = findNode(path[0]!)
    if (node === undefined) continue
    const metadata = { ...node.metadata, hops: String(path.length) }
    for (const service of parseVersions(name, entry, [])) {
      const known = versions.get(service.version) ?? { service, nodes: [] }
      known.nodes.push({ ...node, metadata })
      versions.set(service.version, known)
    }
  }
  return Array.from(versions.values(), ({ service, nodes }) => ({ ...service, nodes }))
}

function toParts(route: Route | undefined, findNode: RouteRegistryOptions['findNode']): Part[] {
  const ways = route?.ways ?? []
  return ways.map(({ path, entry }) => ({
    owner: path.at(-1)!,
    node: findNode(path[0]!)?.id,
    hops: path.length,
    entry,
  }))
}

function isSame(a: readonly Part[], b: readonly Part[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ node, hops, entry }, i) => {
      const other = b[i]!
      return node === other.node && hops === other.hops && entry === other.entry
    })
  )
}
