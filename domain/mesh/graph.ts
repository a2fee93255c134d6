import { findServerId } from './names.ts'
import { parseServer } from './registry/entry.ts'
import type { RouteTable } from './routing-table.ts'

export interface ServerInfo {
  readonly id: string
  /** Address of the server's RPC proxy; empty if unknown. */
  readonly address: string
  /** Distance in links; 0 for this server. */
  readonly hops: number
  /** Ids of the linked servers, whether known or not. */
  readonly peers: readonly string[]
}

/** A server and its linked servers. */
export interface ServerTree {
  readonly id: string
  readonly address: string
  readonly peers: readonly ServerTree[]
}

/** Lists all reachable servers: this one first, then by distance and id. */
export function listServers(table: RouteTable): ServerInfo[] {
  const servers: ServerInfo[] = []
  for (const key of table.keys()) {
    const id = findServerId(key)
    if (id === undefined) continue
    const route = table.find(key)
    const entry = route?.entry ?? table.findLocal(key)
    if (entry) servers.push({ id, hops: route?.path.length ?? 0, ...parseServer(entry) })
  }
  return servers.sort((a, b) => a.hops - b.hops || (a.id < b.id ? -1 : 1))
}

/**
 * Returns the tree of servers starting at this one. The peers of each server are listed at its
 * first occurrence, without its parent.
 *
 * @param depth maximum distance in links.
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
