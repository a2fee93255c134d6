import { MAX_HOPS } from './limits.ts'
import { findServerId } from './names.ts'

/** An advertised route to a destination. */
export interface AdvertisedRoute {
  /**
   * Ids of the servers on the route, from the advertising server to the server with the
   * destination.
   */
  readonly path: readonly string[]
  /** Cost from the advertising server, which is the sum of the costs of its links (`rtt.ts`). */
  readonly metric: number
  /** Serialized entry of the destination (`entry.ts`). */
  readonly entry: string
}

/**
 * A route to a destination. `path` starts with the next server, and `metric` is the cost from this
 * server.
 */
export interface Route extends AdvertisedRoute {
  /** All routes of equal cost, starting with this one. Calls may use any of them. */
  readonly ways: readonly AdvertisedRoute[]
}

export interface RouteTableOptions {
  /** Id of this server. */
  readonly id: string
  /** @default 8 */
  readonly maxHops?: number
  /**
   * Called for each destination for which the result of {@link RouteTable.find} or {@link
   * RouteTable.advertise} changes.
   */
  readonly onChange: (key: string) => void
}

/**
 * Path vector routing table, like BGP, for destinations (services and servers).
 *
 * A server advertises only the route that it uses, including the path, and ignores routes through
 * itself, so there are no loops. Each link has a cost, so calls get closer with each hop, and all
 * tables converge to the cheapest routes regardless of the order of updates (Griffin, Shepherd,
 * Wilfong 2002; Sobrinho 2005).
 */
export interface RouteTable {
  /**
   * Sets a destination on this server, which takes precedence.
   *
   * @param entry null if local and not advertised; undefined if removed.
   */
  readonly setLocal: (key: string, entry: string | null | undefined) => void
  readonly findLocal: (key: string) => string | null | undefined
  /** Adds a peer or changes its cost. */
  readonly setPeer: (peer: string, cost: number) => void
  /** Removes a peer and its routes, servers first. */
  readonly removePeer: (peer: string) => void
  /** Applies a peer's advertised route to a destination; undefined if withdrawn. */
  readonly applyRoute: (peer: string, key: string, advertised: AdvertisedRoute | undefined) => void
  /** Returns the last usable route advertised by a peer. */
  readonly findAdvertised: (peer: string, key: string) => AdvertisedRoute | undefined
  /** Returns the cheapest route, or undefined if the destination is unreachable or local. */
  readonly find: (key: string) => Route | undefined
  /** Returns all routes, cheapest first. */
  readonly list: (key: string) => readonly AdvertisedRoute[]
  /**
   * Returns the route to advertise to a peer, or undefined if no route may be advertised, for
   * example because the peer is on the path.
   */
  readonly advertise: (key: string, peer: string) => AdvertisedRoute | undefined
  /** Returns remote and local destinations. */
  readonly keys: () => Iterable<string>
}

interface Peer {
  cost: number
  readonly advertised: Map<string, AdvertisedRoute>
}

export function createRouteTable(options: RouteTableOptions): RouteTable {
  const { id, maxHops = MAX_HOPS, onChange } = options
  const localRoutes = new Map<string, string | null>()
  const peers = new Map<string, Peer>()
  const best = new Map<string, Route>()

  function list(key: string): AdvertisedRoute[] {
    const ways: AdvertisedRoute[] = []
    for (const { cost, advertised } of peers.values()) {
      const way = advertised.get(key)
      if (way !== undefined) ways.push({ ...way, metric: way.metric + cost })
    }
    return ways.sort(compare)
  }

  function findBest(key: string): Route | undefined {
    if (localRoutes.has(key)) return undefined
    const ways = list(key)
    const [first] = ways
    if (first === undefined) return undefined
    return { ...first, ways: ways.filter(({ metric }) => metric === first.metric) }
  }

  function decide(key: string): void {
    const before = best.get(key)
    const after = findBest(key)
    if (isSame(before, after)) return
    if (after === undefined) best.delete(key)
    else best.set(key, after)
    onChange(key)
  }

  return {
    setLocal(key, entry) {
      if (localRoutes.get(key) === entry) return
      if (entry === undefined) localRoutes.delete(key)
      else localRoutes.set(key, entry)
      const route = findBest(key)
      if (route === undefined) best.delete(key)
      else best.set(key, route)
      onChange(key)
    },

    findLocal: (key) => localRoutes.get(key),

    setPeer(peer, cost) {
      const known = peers.get(peer)
      if (known === undefined) {
        peers.set(peer, { cost, advertised: new Map() })
        return
      }
      if (known.cost === cost) return
      known.cost = cost
      for (const key of known.advertised.keys()) decide(key)
    },

    removePeer(peer) {
      const advertised = peers.get(peer)?.advertised
      peers.delete(peer)
      for (const key of serversFirst(advertised?.keys() ?? [])) decide(key)
    },

    applyRoute(peer, key, advertised) {
      const known = peers.get(peer)!.advertised
      if (advertised === undefined || advertised.path.includes(id)) {
        if (!known.delete(key)) return
      } else known.set(key, advertised)
      decide(key)
    },

    findAdvertised: (peer, key) => peers.get(peer)?.advertised.get(key),
    find: (key) => best.get(key),
    list,

    advertise(key, peer) {
      const entry = localRoutes.get(key)
      if (entry !== undefined) return entry === null ? undefined : { path: [id], metric: 0, entry }
      const route = best.get(key)
      if (route === undefined || route.path.length >= maxHops || route.path.includes(peer))
        return undefined
      return { path: [id, ...route.path], metric: route.metric, entry: route.entry }
    },

    *keys() {
      yield* localRoutes.keys()
      yield* best.keys()
    },
  }
}

// Returns servers first, because their state determines whether a disappeared service is missing or
// withdrawn.
function serversFirst(keys: Iterable<string>): string[] {
  const servers: string[] = []
  const services: string[] = []
  for (const key of keys) (findServerId(key) === undefined ? services : servers).push(key)
  return [...servers, ...services]
}

/** Compares routes by cost, then by length, then in an order that is the same on all servers. */
function compare(a: AdvertisedRoute, b: AdvertisedRoute): number {
  return (
    a.metric - b.metric ||
    a.path.length - b.path.length ||
    (a.path.join('\n') < b.path.join('\n') ? -1 : 1)
  )
}

function isSame(a: Route | undefined, b: Route | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return (
    a.metric === b.metric &&
    a.ways.length === b.ways.length &&
    a.ways.every((way, i) => isSameWay(way, b.ways[i]!))
  )
}

function isSameWay(a: AdvertisedRoute, b: AdvertisedRoute): boolean {
  return (
    a.entry === b.entry &&
    a.path.length === b.path.length &&
    a.path.every((server, i) => server === b.path[i])
  )
}
