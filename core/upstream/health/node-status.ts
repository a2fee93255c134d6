import type { UpstreamNode } from '../node/upstream-node.ts'
import type { Upstream } from '../upstream.ts'

/** States of a node, from best to worst. Only the first two receive requests. */
export const NODE_STATES = [
  'usable',
  'warming',
  'open',
  'unhealthy',
  'ejected',
  'draining',
  'drained',
] as const

/**
 * - `warming`: in its slow start.
 * - `open`: its circuit breaker or the service's circuit breaker is open or half-open.
 * - `unhealthy`: its health checks are failing.
 * - `ejected`: removed from load balancing after failures.
 * - `draining`: shutting down according to the registry.
 * - `drained`: drained by an operator.
 */
export type NodeState = (typeof NODE_STATES)[number]

/** State of a node in one process, or merged from several processes. */
export interface NodeStatus {
  readonly domain: string
  /** Full service name. */
  readonly service: string
  readonly id: string
  /** `<host>:<port>` */
  readonly address: string
  /** Empty if unknown. */
  readonly zone: string
  readonly state: NodeState
  /** End of the ejection as Unix time in milliseconds; 0 if not ejected. */
  readonly ejectedUntilMs: number
  /** Number of requests and calls in flight. */
  readonly active: number
  /** Number of open HTTP connections. */
  readonly connections: number
  /** Average latency in milliseconds; undefined if unknown. */
  readonly latencyMs: number | undefined
}

/** Returns the worst state that applies. */
export function toNodeState(upstream: Upstream, node: UpstreamNode): NodeState {
  if (upstream.isDrained(node)) return 'drained'
  if (node.draining) return 'draining'
  if (node.ejectedUntilMs !== 0) return 'ejected'
  if (node.isUnhealthy) return 'unhealthy'
  if (upstream.isOpen(node) || upstream.openForMs > 0) return 'open'
  return node.warmUntilMs > upstream.nowMs ? 'warming' : 'usable'
}

/** Whether a node in this state receives requests. */
export function isInUse(state: NodeState): boolean {
  return state === 'usable' || state === 'warming'
}

/** Reads the nodes of a service in this process. */
export function readNodes(upstream: Upstream): NodeStatus[] {
  const { domain, nowMs } = upstream
  return upstream.nodes.map((node) => ({
    domain,
    service: node.service,
    id: node.id,
    address: `${node.host.includes(':') ? `[${node.host}]` : node.host}:${node.port}`,
    zone: node.zone,
    state: toNodeState(upstream, node),
    ejectedUntilMs:
      node.ejectedUntilMs === 0 ? 0 : Math.round(Date.now() + node.ejectedUntilMs - nowMs),
    active: node.active,
    connections: node.connections,
    latencyMs: node.latency?.ms,
  }))
}

/** Merges the nodes of several processes, using the worst state, the latest ejection, the highest latency, and sums. */
export function mergeNodes(processes: readonly (readonly NodeStatus[])[]): NodeStatus[] {
  const merged = new Map<string, NodeStatus>()
  for (const status of processes.flat()) {
    const key = JSON.stringify([status.domain, status.service, status.id])
    const known = merged.get(key)
    merged.set(key, known === undefined ? status : mergeTwo(known, status))
  }
  return [...merged.values()]
}

function mergeTwo(a: NodeStatus, b: NodeStatus): NodeStatus {
  const latencies = [a.latencyMs, b.latencyMs].filter((ms) => ms !== undefined)
  return {
    ...a,
    state: NODE_STATES.indexOf(a.state) < NODE_STATES.indexOf(b.state) ? b.state : a.state,
    ejectedUntilMs: Math.max(a.ejectedUntilMs, b.ejectedUntilMs),
    active: a.active + b.active,
    connections: a.connections + b.connections,
    latencyMs: latencies.length === 0 ? undefined : Math.max(...latencies),
  }
}
