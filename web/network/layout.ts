import type { PeerMessage, ServerMessage } from '../../services/network/messages.ts'

/** A server with its position in the graph. */
export interface PlacedServer {
  readonly server: ServerMessage
  /** Distance from the root server in links. */
  readonly hops: number
  readonly x: number
  readonly y: number
}

/** A link between two servers, as indexes into the server list. */
export interface PlacedLink {
  readonly from: number
  readonly to: number
}

/** Graph layout in pixels, with the root server at the origin. */
export interface Layout {
  readonly servers: readonly PlacedServer[]
  readonly links: readonly PlacedLink[]
}

interface Branch {
  readonly server: ServerMessage
  readonly hops: number
  readonly children: Branch[]
}

/** Minimum distance between two circles. */
const RING_PX = 110
/** Minimum distance between two servers on a circle. */
const SPACING_PX = 28

/**
 * Computes a radial layout with the root server in the center and the other servers on circles by distance, each in the
 * sector of its parent. A server that occurs several times in the tree is placed once, with a link for each occurrence.
 */
export function layOut(root: PeerMessage): Layout {
  const { tree, ids, pairs } = readTree(root)
  const rings = countRings(tree)
  const ringPx = Math.max(
    RING_PX,
    ...rings.map((count, hops) => (count * SPACING_PX) / (2 * Math.PI * Math.max(hops, 1))),
  )
  const servers: PlacedServer[] = Array.from({ length: ids.size })
  const placeServer = ({ server, hops, children }: Branch, from: number, to: number): void => {
    const angle = (from + to) / 2
    const distance = hops * ringPx
    const [x, y] = [round(distance * Math.cos(angle)), round(distance * Math.sin(angle))]
    servers[ids.get(server.id)!] = { server, hops, x, y }
    const leaves = children.reduce((sum, child) => sum + countLeaves(child), 0)
    let at = from
    for (const child of children) {
      const share = ((to - from) * countLeaves(child)) / leaves
      placeServer(child, at, at + share)
      at += share
    }
  }
  placeServer(tree, -Math.PI, Math.PI)
  const links = pairs.map(([from, to]) => ({ from: ids.get(from)!, to: ids.get(to)! }))
  return { servers, links }
}

/** Returns the spanning tree (breadth-first), server ids in order of discovery, and unique links. */
function readTree(root: PeerMessage) {
  const ids = new Map<string, number>([[root.node.id, 0]])
  const pairs = new Map<string, readonly [string, string]>()
  const tree: Branch = { server: root.node, hops: 0, children: [] }
  for (let level = [{ peer: root, branch: tree }]; level.length > 0; ) {
    const next: typeof level = []
    for (const { peer, branch } of level) {
      for (const neighbour of peer.peers) {
        const { id } = neighbour.node
        const pair = [peer.node.id, id].sort() as [string, string]
        if (id !== peer.node.id) pairs.set(JSON.stringify(pair), pair)
        if (ids.has(id)) continue
        ids.set(id, ids.size)
        const child: Branch = { server: neighbour.node, hops: branch.hops + 1, children: [] }
        branch.children.push(child)
        next.push({ peer: neighbour, branch: child })
      }
    }
    level = next
  }
  return { tree, ids, pairs: [...pairs.values()] }
}

/** Counts servers by distance. */
function countRings(tree: Branch): number[] {
  const rings: number[] = []
  for (let level = [tree]; level.length > 0; level = level.flatMap(({ children }) => children))
    rings.push(level.length)
  return rings
}

function countLeaves({ children }: Branch): number {
  return children.length === 0 ? 1 : children.reduce((sum, child) => sum + countLeaves(child), 0)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
