import { listServers, type ServerTree, toGraph } from '../../domain/mesh/graph.ts'
import { findServerId } from '../../domain/mesh/names.ts'
import type { RouteTable } from '../../domain/mesh/routing-table.ts'
import type { LinkInfo } from './links.ts'
import type {
  LinkMessage,
  PageRequest,
  PeerMessage,
  RouteMessage,
  RouteQuery,
  ServerMessage,
} from './messages.ts'

export interface ViewOptions {
  readonly table: RouteTable
  readonly id: string
  readonly network: string
}

/** State of the network as seen by this server. */
export interface View {
  readonly self: () => ServerMessage
  /** @param depth maximum distance in links; 0 for unlimited. */
  readonly toGraph: (depth: number) => PeerMessage
  readonly listServers: (depth: number) => ServerMessage[]
  readonly listServices: (page: PageRequest) => {
    readonly services: string[]
    readonly next?: string
  }
  readonly listRoutes: (
    query: RouteQuery,
    page: PageRequest,
  ) => { readonly routes: RouteMessage[]; readonly next?: string }
}

export function createView({ table, id, network }: ViewOptions): View {
  const toDepth = (depth: number): number => depth || Number.POSITIVE_INFINITY

  function toPeer({ id, address, peers }: ServerTree): PeerMessage {
    return { node: { id, address, network }, peers: peers.map(toPeer) }
  }

  function toPage({ limit, after }: PageRequest): { names: string[]; next?: string } {
    const names = [...table.keys()].filter((key) => key > after && findServerId(key) === undefined)
    names.sort((a, b) => (a < b ? -1 : 1))
    if (names.length <= limit) return { names }
    return { names: names.slice(0, limit), next: names[limit - 1]! }
  }

  function toRoutes(service: string, addresses: ReadonlyMap<string, string>): RouteMessage[] {
    if (findServerId(service) !== undefined) return []
    const addressOf = (server: string): string => addresses.get(server) ?? ''
    const routes: RouteMessage[] = table.list(service).map(({ path, metric }) => ({
      service,
      address: addressOf(path.at(-1)!),
      gateway: addressOf(path[0]!),
      network,
      router: path[0]!,
      link: 'network',
      metric,
      path: [...path],
    }))
    if (table.findLocal(service) === undefined) return routes
    const here: RouteMessage = {
      service,
      address: addressOf(id),
      gateway: '',
      network,
      router: id,
      link: 'local',
      metric: 0,
      path: [],
    }
    return [here, ...routes]
  }

  return {
    self: () => ({ id, address: listServers(table)[0]?.address ?? '', network }),
    toGraph: (depth) => toPeer(toGraph(table, id, toDepth(depth))),

    listServers: (depth) =>
      listServers(table)
        .filter(({ hops }) => hops <= toDepth(depth))
        .map(({ id, address }) => ({ id, address, network })),

    listServices(page) {
      const { names: services, ...next } = toPage(page)
      return { services, ...next }
    },

    listRoutes({ service, ...fields }, page) {
      const addresses = new Map(listServers(table).map(({ id, address }) => [id, address]))
      const { names, ...next } = service === '' ? toPage(page) : { names: [service] }
      const conditions = Object.entries(fields) as [keyof typeof fields, string][]
      const routes = names
        .flatMap((name) => toRoutes(name, addresses))
        .filter((route) =>
          conditions.every(([field, text]) => text === '' || route[field] === text),
        )
      return { routes, ...next }
    },
  }
}

export function toLinkMessage({ link, peer, traffic }: LinkInfo): LinkMessage {
  const { state, reason, roundTrip } = link
  return {
    address: link.address.text,
    id: peer?.id ?? '',
    state,
    error: reason?.message ?? '',
    rtt_ms: Math.round(roundTrip.ms * 1000) / 1000,
    metric: roundTrip.cost,
    calls: traffic.calls,
    failures: traffic.failures,
    sent_bytes: traffic.sentBytes,
    received_bytes: traffic.receivedBytes,
  }
}
