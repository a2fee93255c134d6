import type { UpstreamNode } from '../node-health.ts'
import type { UpstreamPolicies } from '../policies.ts'
import { hashText } from './hash.ts'

/**
 * Nodes that may be balanced: of `usable`, or of all nodes when too few are usable, the nodes of the smallest priority, then of the zone of
 * this process. Mostly the same array: a copy per service would take memory.
 */
export function selectNodes(
  all: readonly UpstreamNode[],
  usable: readonly UpstreamNode[],
  { panicThreshold, zone }: UpstreamPolicies,
): readonly UpstreamNode[] {
  const isEnough = (some: readonly UpstreamNode[], of: readonly UpstreamNode[]): boolean =>
    some.length * 100 >= of.length * panicThreshold
  const preferred = toPreferred(isEnough(usable, all) ? usable : all)
  if (zone === '') return preferred
  const isNear = (node: UpstreamNode): boolean => node.zone === zone
  const near = preferred.filter(isNear)
  return near.length > 0 && isEnough(near, all.filter(isNear)) ? near : preferred
}

function toPreferred(nodes: readonly UpstreamNode[]): readonly UpstreamNode[] {
  const smallest = nodes.reduce(
    (min, { priority }) => Math.min(min, priority),
    Number.POSITIVE_INFINITY,
  )
  return nodes.every(({ priority }) => priority === smallest)
    ? nodes
    : nodes.filter(({ priority }) => priority === smallest)
}

/**
 * The `size` nodes that a process uses, by rendezvous hashing of its id: changes of other nodes replace few of them.
 *
 * @param id of this process
 */
export function toSubset(
  nodes: readonly UpstreamNode[],
  size: number,
  id: string,
): readonly UpstreamNode[] {
  if (size === 0 || nodes.length <= size) return nodes
  const rank = (node: UpstreamNode): number => {
    const text = `${id} ${node.id}`
    return hashText(text, 0, text.length)
  }
  const ranks = new Map(nodes.map((node) => [node, rank(node)]))
  const chosen = new Set(nodes.toSorted((a, b) => ranks.get(a)! - ranks.get(b)!).slice(0, size))
  return nodes.filter((node) => chosen.has(node))
}
