import type { Node, Registry, RegistryEvent, Service } from '../contracts/registry.ts'
import { Held } from '../directory/held.ts'
import { createWatchers } from '../registry-watchers.ts'
import { parseVersions } from './entry.ts'
import type { FallbackServices } from './joined-watch.ts'
import { findServerId } from './names.ts'
import type { Route, RouteTable } from './route-table.ts'

export interface RouteRegistryOptions {
  readonly table: Pick<RouteTable, 'find' | 'findOwn' | 'keys'>
  /** How a peer is reached. */
  readonly findNode: (peer: string) => Node | undefined
  /** Milliseconds that only grow. @default performance.now */
  readonly nowMs?: () => number
}

/**
 * Services of other servers, at the peers that calls of them may go to. Services whose last link was lost stay without nodes for
 * 95 s: requests of them are 503, not 404.
 */
export interface RouteRegistry extends Pick<Registry, 'name'>, FallbackServices {
  /** A destination has other routes than before. A lost peer must be unknown to `findNode` before its routes are removed. */
  readonly changed: (key: string) => void
  /** Forgets the services whose link was lost 95 s ago. Runs by itself. */
  readonly sweep: () => void
  readonly close: () => void
}

/** What of a way its service is made of. */
interface Part {
  readonly peer: string
  readonly node: string | undefined
  readonly hops: number
  readonly entry: string
}

/** What was told last of a service. */
interface Shown {
  readonly parts: readonly Part[]
  readonly services: readonly Service[]
}

/** How often services whose link was lost are looked at, milliseconds. */
const SWEEP_MS = 5000

export function createRouteRegistry(options: RouteRegistryOptions): RouteRegistry {
  const { table, findNode, nowMs = () => performance.now() } = options
  const { watch, emit } = createWatchers()
  const shown = new Map<string, Shown>()
  /** Without nodes, by name. */
  const lost = new Held<readonly Service[]>(nowMs)
  const sweeper = setInterval(sweep, SWEEP_MS).unref()

  function getService(name: string): readonly Service[] {
    const route = findServerId(name) === undefined ? table.find(name) : undefined
    return route === undefined ? (lost.get(name) ?? []) : toServices(name, route, findNode)
  }

  function sweep(): void {
    for (const services of lost.expire()) {
      const [{ name }] = services as [Service]
      shown.delete(name)
      for (const service of services) emit({ type: 'delete', service })
    }
  }

  /** Whether a service is gone because links were lost, not because a peer has withdrawn it or this server has it. */
  function isLost(name: string, parts: readonly Part[]): boolean {
    return (
      parts.length > 0 &&
      table.findOwn(name) === undefined &&
      parts.some(({ peer }) => findNode(peer) === undefined)
    )
  }

  return {
    name: 'network',
    getService,

    listServices: () => [
      ...[...table.keys()].flatMap((name) =>
        lost.get(name) === undefined ? getService(name) : [],
      ),
      ...lost.items.flat(),
    ],

    changed(name) {
      if (findServerId(name) !== undefined) return
      const before = shown.get(name)
      const parts = toParts(table.find(name), findNode)
      const isTakenOver = lost.get(name) !== undefined && table.findOwn(name) !== undefined
      if (isSame(before?.parts ?? [], parts) && !isTakenOver) return
      lost.release(name)
      if (parts.length === 0 && before !== undefined && isLost(name, before.parts))
        lost.add(
          name,
          before.services.map((service) => ({ ...service, nodes: [] })),
        )
      const services = getService(name)
      if (services.length === 0) shown.delete(name)
      else shown.set(name, { parts, services })
      const old = new Set(before?.services.map(({ version }) => version))
      const events: RegistryEvent[] = []
      for (const service of services)
        events.push({ type: old.delete(service.version) ? 'update' : 'create', service })
      for (const version of old) {
        const service = { name, version, metadata: {}, endpoints: [], nodes: [] }
        events.push({ type: 'delete', service })
      }
      for (const event of events) emit(event)
    },

    watch,
    sweep,
    close: () => clearInterval(sweeper),
  }
}

/** The versions of a service, each at the peers whose ways have it. */
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
    peer: path[0]!,
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
