import type { UpstreamNode } from './node.ts'
import type { Upstream } from './upstream.ts'

/** Most nodes tried for one request. */
const NODES_MAX = 5

/**
 * Whether a request that none of these nodes has served may go to another.
 *
 * The nodes are looked for, not counted: of a service that ends, the node is gone from the list before the request is back.
 */
export function mayTryAnother({ nodes }: Upstream, tried: readonly UpstreamNode[]): boolean {
  return tried.length < NODES_MAX && nodes.some((node) => !tried.includes(node))
}
