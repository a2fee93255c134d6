import { findServerId } from './names.ts'
import { parseServer } from './registry/entry.ts'
import type { RouteTable } from './routing-table.ts'

/** A server of the network. */
export interface ServerInfo {
  readonly id: string
  /** Where its RPC proxy is reached; empty: unknown. */
  readonly address: string
  /** Links to it from here; 0: it is this server. */
  readonly hops: number
  /** Ids of the servers it is linked with, known or not. */
  readonly peers: readonly string[]
}

/** A server, and those it is linked with. */
export interface ServerTree {
  readonly id: string
  readonly address: string
  readonly peers: readonly ServerTree[]
}

/** All servers there is a way to, this one first, then by distance and id. */
export function listServers(table: RouteTable): ServerInfo[] {
  const servers: ServerInfo[] = []
  for (const key of table.keys()) {
    const id = findServerId(key)
    if (id === undefined) continue
    const route = table.find(key)
    const entry = route?.entry ?? table.findOwn(key)
    if (entry) servers.push({ id, hops: route?.path.length ?? 0, ...parseServer(entry) })
  }
  return servers.sort((a, b) => a.hops - b.hops || (a.id < b.id ? -1 : 1))
}

/**
 * The servers as a tree, seen from this one. The peers of each are listed where it comes first, without the one above it.
 *
 * @param depth links from this server, at most.
 */
export function toGraph(table: RouteTable, id: string, depth: number): ServerTree {
  const known = new Map(listServers(table).map((server) => [server.id, server]))
  const root = { id, address: known.get(id)?.address ?? '', peers: [] as ServerTree[] }
  const seen = new Set([id])
  let level = [{ tree: root, above: '' }]
  for (let hops = 0; hops < depth && level.length > 0; hops++) {
    const next: typeof level = []
    for (const { tree, above } of level) {
      for (const peer of known.get(tree.id)?.peers ?? []) {
        if (peer === above) continue
        const child = { id: peer, address: known.get(peer)?.address ?? '', peers: [] }
        tree.peers.push(child)
        if (seen.has(peer)) continue
        seen.add(peer)
        next.push({ tree: child, above: tree.id })
      }
    }
    level = next
  }
  return root
}
