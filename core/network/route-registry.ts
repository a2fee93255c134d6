import type { Node, Registry, RegistryEvent, Service } from '../contracts/registry.ts'
import { createWatchers } from '../registry-watchers.ts'
import { parseVersions } from './entry.ts'
import { findServerId } from './names.ts'
import type { Route, RouteTable } from './route-table.ts'

export interface RouteRegistryOptions {
  readonly table: Pick<RouteTable, 'find' | 'keys'>
  /** How a peer is reached. */
  readonly findNode: (peer: string) => Node | undefined
}

/** Services of other servers, at the peers that calls of them may go to. */
export interface RouteRegistry extends Pick<Registry, 'name'>, Required<Pick<Registry, 'watch'>> {
  readonly getService: (name: string) => readonly Service[]
  readonly listServices: () => readonly Service[]
  /** A destination has other routes than before. */
  readonly changed: (key: string) => void
}

/** What of a way its service is made of. */
interface Part {
  readonly node: string | undefined
  readonly hops: number
  readonly entry: string
}

/** What was told last of a service. */
interface Shown {
  readonly parts: readonly Part[]
  readonly versions: readonly string[]
}

export function createRouteRegistry(options: RouteRegistryOptions): RouteRegistry {
  const { table, findNode } = options
  const { watch, emit } = createWatchers()
  const shown = new Map<string, Shown>()

  function getService(name: string): readonly Service[] {
    const route = findServerId(name) === undefined ? table.find(name) : undefined
    return route === undefined ? [] : toServices(name, route, findNode)
  }

  return {
    name: 'network',
    getService,

    listServices: () => [...table.keys()].flatMap(getService),

    changed(name) {
      if (findServerId(name) !== undefined) return
      const before = shown.get(name)
      const parts = toParts(table.find(name), findNode)
      if (isSame(before?.parts ?? [], parts)) return
      const services = getService(name)
      if (services.length === 0) shown.delete(name)
      else shown.set(name, { parts, versions: services.map(({ version }) => version) })
      const old = new Set(before?.versions)
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
