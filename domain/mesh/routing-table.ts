import { MAX_HOPS } from './limits.ts'
import { findServerId } from './names.ts'

/** What a server tells another of a destination. */
export interface AdvertisedRoute {
  /** Ids of the servers on the way: first the one that tells, last the one that has it. */
  readonly path: readonly string[]
  /** What the way costs from the one that tells: the sum of its links (`rtt.ts`). */
  readonly metric: number
  /** What is known of the destination, as text (`entry.ts`). */
  readonly entry: string
}

/** A way to a destination: its `path` begins with the next server, its `metric` counts from here. */
export interface Route extends AdvertisedRoute {
  /** All ways that cost no more, itself first: calls may go any of them. */
  readonly ways: readonly AdvertisedRoute[]
}

export interface RouteTableOptions {
  /** Id of this server. */
  readonly id: string
  /** @default 8 */
  readonly maxHops?: number
  /** Told of every destination for which {@link RouteTable.find} or {@link RouteTable.tell} have another answer than before. */
  readonly onChange: (key: string) => void
}

/**
 * What a server knows of the ways to destinations (services, and servers): a path vector table, as BGP has one.
 *
 * A server tells its peers the one way it uses itself, with the servers on it, and uses none that leads through itself: so no way
 * goes in a circle. Each link costs something, hence calls come closer with every server they pass, and all tables agree on the
 * cheapest ways once nothing changes any more, whatever order the news came in (Griffin, Shepherd, Wilfong 2002; Sobrinho 2005).
 */
export interface RouteTable {
  /**
   * What this server has itself, whatever others tell of it.
   *
   * @param entry null: it is here, and nobody is told; undefined: it is not here any more.
   */
  readonly setOwn: (key: string, entry: string | null | undefined) => void
  readonly findOwn: (key: string) => string | null | undefined
  /** Begins to listen to a peer, or has it cost something else. */
  readonly setPeer: (peer: string, cost: number) => void
  /** Forgets all that a peer told, servers first. */
  readonly removePeer: (peer: string) => void
  /** Takes what a peer, which is there, tells of a destination; undefined: it has no way any more. */
  readonly learn: (peer: string, key: string, told: AdvertisedRoute | undefined) => void
  /** What a peer told last, and is of use here. */
  readonly findTold: (peer: string, key: string) => AdvertisedRoute | undefined
  /** The cheapest way; undefined: there is none, or it is here. */
  readonly find: (key: string) => Route | undefined
  /** All ways that are known, the cheapest first. */
  readonly list: (key: string) => readonly AdvertisedRoute[]
  /** What a peer is to be told; undefined: nothing, for it is on the way itself. */
  readonly tell: (key: string, peer: string) => AdvertisedRoute | undefined
  /** Destinations there are ways to, and those that are here. */
  readonly keys: () => Iterable<string>
}

interface Peer {
  cost: number
  readonly told: Map<string, AdvertisedRoute>
}

export function createRouteTable(options: RouteTableOptions): RouteTable {
  const { id, maxHops = MAX_HOPS, onChange } = options
  const own = new Map<string, string | null>()
  const peers = new Map<string, Peer>()
  const best = new Map<string, Route>()

  function list(key: string): AdvertisedRoute[] {
    const ways: AdvertisedRoute[] = []
    for (const { cost, told } of peers.values()) {
      const way = told.get(key)
      if (way !== undefined) ways.push({ ...way, metric: way.metric + cost })
    }
    return ways.sort(compare)
  }

  function findBest(key: string): Route | undefined {
    if (own.has(key)) return undefined
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
    setOwn(key, entry) {
      if (own.get(key) === entry) return
      if (entry === undefined) own.delete(key)
      else own.set(key, entry)
      const route = findBest(key)
      if (route === undefined) best.delete(key)
      else best.set(key, route)
      onChange(key)
    },

    findOwn: (key) => own.get(key),

    setPeer(peer, cost) {
      const known = peers.get(peer)
      if (known === undefined) {
        peers.set(peer, { cost, told: new Map() })
        return
      }
      if (known.cost === cost) return
      known.cost = cost
      for (const key of known.told.keys()) decide(key)
    },

    removePeer(peer) {
      const told = peers.get(peer)?.told
      peers.delete(peer)
      for (const key of serversFirst(told?.keys() ?? [])) decide(key)
    },

    learn(peer, key, told) {
      const known = peers.get(peer)!.told
      if (told === undefined || told.path.includes(id)) {
        if (!known.delete(key)) return
      } else known.set(key, told)
      decide(key)
    },

    findTold: (peer, key) => peers.get(peer)?.told.get(key),
    find: (key) => best.get(key),
    list,

    tell(key, peer) {
      const entry = own.get(key)
      if (entry !== undefined) return entry === null ? undefined : { path: [id], metric: 0, entry }
      const route = best.get(key)
      if (route === undefined || route.path.length >= maxHops || route.path.includes(peer))
        return undefined
      return { path: [id, ...route.path], metric: route.metric, entry: route.entry }
    },

    *keys() {
      yield* own.keys()
      yield* best.keys()
    },
  }
}

/** In this order the server of a service is known to be gone, or to stay, when the service goes. */
function serversFirst(keys: Iterable<string>): string[] {
  const servers: string[] = []
  const services: string[] = []
  for (const key of keys) (findServerId(key) === undefined ? services : servers).push(key)
  return [...servers, ...services]
}

/** The cheapest first, then the shortest, then any order that is the same everywhere. */
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
