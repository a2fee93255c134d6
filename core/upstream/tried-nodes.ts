import type { UpstreamNode } from './node-health.ts'
import type { Upstream } from './upstream.ts'

/** Most nodes tried for one request. */
const NODES_MAX = 5

/** Whether a request that none of these nodes has served may go to another. */
export function canTryAnother(upstream: Upstream, tried: readonly UpstreamNode[]): boolean {
  return tried.length < NODES_MAX && upstream.others(tried).length > 0
}
