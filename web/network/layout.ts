import type { Peer, Server } from './messages.ts'

/** A server with its place in the drawing. */
export interface PlacedServer {
  readonly server: Server
  /** Links from the server that tells; 0: it is that one. */
  readonly hops: number
  readonly x: number
  readonly y: number
}

/** A link between two servers, by their places in the list. */
export interface PlacedLink {
  readonly from: number
  readonly to: number
}

/** Where servers and links are drawn, in pixels; 0, 0 is the server that tells. */
export interface Layout {
  readonly servers: readonly PlacedServer[]
  readonly links: readonly PlacedLink[]
}

interface Twig {
  readonly server: Server
  readonly hops: number
  readonly children: Twig[]
}

/** Between two circles at least. */
const RING_PX = 110
/** Between two servers of a circle. */
const APART_PX = 28

/**
 * Puts the server that tells in the middle, and the others on circles by their distance, each in the sector of the one it is
 * reached by. Of a server that stands several times in the tree only the first one is drawn, and a link to it for each of the others.
 */
export function layOut(root: Peer): Layout {
  const { trunk, ids, pairs } = readTree(root)
  const rings = countRings(trunk)
  const ringPx = Math.max(
    RING_PX,
    ...rings.map((count, hops) => (count * APART_PX) / (2 * Math.PI * Math.max(hops, 1))),
  )
  const servers: PlacedServer[] = Array.from({ length: ids.size })
  const place = ({ server, hops, children }: Twig, from: number, to: number): void => {
    const angle = (from + to) / 2
    const distance = hops * ringPx
    const [x, y] = [round(distance * Math.cos(angle)), round(distance * Math.sin(angle))]
    servers[ids.get(server.id)!] = { server, hops, x, y }
    const all = children.reduce((sum, child) => sum + countLeaves(child), 0)
    let at = from
    for (const child of children) {
      const share = ((to - from) * countLeaves(child)) / all
      place(child, at, at + share)
      at += share
    }
  }
  // The first one stands on the right.
  place(trunk, -Math.PI, Math.PI)
  const links = pairs.map(([from, to]) => ({ from: ids.get(from)!, to: ids.get(to)! }))
  return { servers, links }
}

/** The tree with each server once, where it comes nearest; ids in the order they are met; links, each once. */
function readTree(root: Peer) {
  const ids = new Map<string, number>([[root.node.id, 0]])
  const pairs = new Map<string, readonly [string, string]>()
  const trunk: Twig = { server: root.node, hops: 0, children: [] }
  for (let level = [{ peer: root, twig: trunk }]; level.length > 0; ) {
    const next: typeof level = []
    for (const { peer, twig } of level) {
      for (const other of peer.peers) {
        const { id } = other.node
        const pair = [peer.node.id, id].sort() as [string, string]
        if (id !== peer.node.id) pairs.set(JSON.stringify(pair), pair)
        if (ids.has(id)) continue
        ids.set(id, ids.size)
        const child: Twig = { server: other.node, hops: twig.hops + 1, children: [] }
        twig.children.push(child)
        next.push({ peer: other, twig: child })
      }
    }
    level = next
  }
  return { trunk, ids, pairs: [...pairs.values()] }
}

/** Servers by distance. */
function countRings(trunk: Twig): number[] {
  const rings: number[] = []
  for (let level = [trunk]; level.length > 0; level = level.flatMap(({ children }) => children))
    rings.push(level.length)
  return rings
}

function countLeaves({ children }: Twig): number {
  return children.length === 0 ? 1 : children.reduce((sum, child) => sum + countLeaves(child), 0)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
