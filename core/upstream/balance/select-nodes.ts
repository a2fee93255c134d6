import type { UpstreamNode } from '../node/upstream-node.ts'
import type { UpstreamPolicies } from '../policies/policies.ts'
import { hashText } from './hash.ts'

/**
 * Selects the nodes for load balancing: the usable nodes of the lowest priority value that has enough usable nodes. If
 * none has enough, all reachable nodes of the lowest priority value. Nodes in the zone of this process are preferred
 * while enough of them are usable. Usually returns the same array, since a copy per service would take memory.
 */
export function selectNodes(
  all: readonly UpstreamNode[],
  usable: readonly UpstreamNode[],
  { panicThreshold, zone }: UpstreamPolicies,
): readonly UpstreamNode[] {
  const hasEnough = (subset: readonly UpstreamNode[], total: readonly UpstreamNode[]): boolean =>
    subset.length * 100 >= total.length * panicThreshold &&
    (subset.length > 0 || panicThreshold === 0)
  const priorities = listPriorities(all)
  const priority = priorities.find((each) => hasEnough(pick(usable, each), pick(all, each)))
  const candidates = pick(all, priority ?? priorities[0] ?? 0)
  const selected = priority === undefined ? omitUnreachable(candidates) : pick(usable, priority)
  if (zone === '') return selected
  const isInZone = (node: UpstreamNode): boolean => node.zone === zone
  const inZone = selected.filter(isInZone)
  return inZone.length > 0 && hasEnough(inZone, candidates.filter(isInZone)) ? inZone : selected

  function pick(nodes: readonly UpstreamNode[], requested: number): readonly UpstreamNode[] {
    return priorities.length === 1 ? nodes : nodes.filter((node) => node.priority === requested)
  }
}

/** Returns all nodes if none is reachable. */
function omitUnreachable(nodes: readonly UpstreamNode[]): readonly UpstreamNode[] {
  if (!nodes.some(({ failures }) => failures.isUnreachable)) return nodes
  const reachable = nodes.filter(({ failures }) => !failures.isUnreachable)
  return reachable.length > 0 ? reachable : nodes
}

/** Priorities in increasing order, usually a single one. */
function listPriorities(nodes: readonly UpstreamNode[]): readonly number[] {
  const [first] = nodes
  if (first === undefined) return []
  if (nodes.every(({ priority }) => priority === first.priority)) return [first.priority]
  return [...new Set(nodes.map(({ priority }) => priority))].sort((a, b) => a - b)
}

/**
 * Selects the `size` nodes that a process uses by rendezvous hashing of its id, so that changes of other nodes replace
 * few of them.
 *
 * @param id id of this process.
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
  const selectedNodes = new Set(
    nodes.toSorted((a, b) => ranks.get(a)! - ranks.get(b)!).slice(0, size),
  )
  return nodes.filter((node) => selectedNodes.has(node))
}
