import { clock } from '../../../lib/time/coarse-clock.ts'
import type { UpstreamNode } from '../node/upstream-node.ts'

/** Time constant of the decay in milliseconds. */
const DECAY_MS = 10_000
/** Minimum latency recorded for a failure, in milliseconds. */
const FAILURE_MS = 1000
/** Cost of a node whose first response is pending, so that not all requests wait for it. */
const PENDING_COST = 1e9

/**
 * Adds a response to the latency of a node, a peak-sensitive exponentially weighted moving average (Twitter Finagle). A
 * slower response replaces the average; faster ones lower it over ten seconds.
 */
export function addLatency(node: UpstreamNode, measuredMs: number, isFailure: boolean): void {
  // A node that fails immediately must not appear fast.
  const latencyMs = isFailure ? Math.max(measuredMs, FAILURE_MS) : measuredMs
  if (latencyMs < 0) return
  const nowMs = clock.nowMs
  const average = node.latency
  if (average === undefined) {
    node.latency = { ms: latencyMs, atMs: nowMs }
    return
  }
  const share = Math.exp((average.atMs - nowMs) / DECAY_MS)
  average.ms = latencyMs > average.ms ? latencyMs : average.ms * share + latencyMs * (1 - share)
  average.atMs = nowMs
}

/** Returns the expected latency of an additional request, relative to the weight of the node. */
export function toCost({ latency, active, weight }: UpstreamNode): number {
  if (latency === undefined) return active === 0 ? 0 : PENDING_COST * active
  // The cost decays, so that an idle node is eventually tried again.
  const share = Math.exp((latency.atMs - clock.nowMs) / DECAY_MS)
  return (latency.ms * share * (active + 1)) / weight
}
