import { tickNow } from '../../lib/time/tick-clock.ts'
import type { Exchange } from '../exchange.ts'
import type { FailureKind } from './call.ts'
import { UNKNOWN_LATENCY } from './health/outlier-window.ts'
import type { UpstreamNode } from './node-health.ts'
import type { Upstream } from './upstream.ts'

/** Maximum nodes tried per request. */
const NODES_MAX = 5
/** Maximum attempts of a request that a node may have served, the first included. */
const REPEATED_MAX = 2

/**
 * Why an attempt failed; Envoy's name for the retry condition in parentheses.
 * - `connect`: no connection could be made; not sent (`connect-failure`).
 * - `unsent`: certainly not served, and not the fault of the node: it accepts no more requests, or all connections are
 *   busy (`refused-stream`).
 * - `reset`: the connection ended before the end of the response; the node may have served the request (`reset`).
 * - `stale`: the same on a reused connection: its end may have crossed the request, and does not affect the node's
 *   health.
 * - `gateway`: the response was malformed or late.
 * - `neutral`: ended by the caller's deadline, or by another request on the connection; does not affect the node's
 *   health.
 */
export type AttemptFailure = 'connect' | 'unsent' | 'reset' | 'stale' | 'gateway' | 'neutral'

/**
 * A request or call that is sent to nodes of a service until one of them serves it.
 *
 * Implemented by the request object itself, which saves an allocation per request. The functions of this module manage
 * the fields.
 */
export interface Attempts {
  /** Candidate nodes. */
  upstream: Upstream | undefined
  /** Node of the current or last attempt. */
  node: UpstreamNode | undefined
  /** Attempts started. */
  attempts: number
  /** Nodes that failed to serve it. */
  tried: UpstreamNode[] | undefined
  inFlight: boolean
  /** Start of the last attempt, `performance.now()`. */
  attemptStartMs: number
  /** Route or endpoint, for outlier detection. Read only while a node fails. */
  readonly routeName: string
}

/** Selects the node for the next attempt; undefined if no node is left. */
export function pickNode(request: Attempts, x: Exchange | undefined): UpstreamNode | undefined {
  return request.upstream?.pick(x, request.node, request.tried)
}

/** Starts an attempt, counted as a request in flight of the node. */
export function beginAttempt(request: Attempts, node: UpstreamNode): void {
  if (request.attempts++ > 0) request.upstream!.retried()
  request.node = node
  request.inFlight = true
  request.attemptStartMs = tickNow()
  node.active++
}

/** Ends the attempt in flight, if there is one. */
export function endAttempt(request: Attempts): void {
  if (!request.inFlight) return
  request.inFlight = false
  request.node!.active--
}

/** Records that the node responded, with any result. */
export function recordSuccess(request: Attempts): void {
  request.upstream!.responded(request.node!, 200, UNKNOWN_LATENCY, request)
}

/** Records the HTTP status of the node's response. */
export function recordStatus(request: Attempts, status: number): void {
  request.upstream!.responded(request.node!, status, tickNow() - request.attemptStartMs, request)
}

/**
 * Records a failed attempt.
 *
 * @param isCounted false: outlier detection has counted the failure for another request on the same connection.
 */
export function recordFailure(request: Attempts, failure: AttemptFailure, isCounted = true): void {
  const node = request.node!
  if (isCounted) {
    if (failure === 'connect') request.upstream!.failed(node, 'connect', request.routeName)
    else if (failure === 'reset' || failure === 'gateway')
      request.upstream!.failed(node, failure, request.routeName)
  }
  if (failure === 'connect' || failure === 'unsent' || failure === 'reset') {
    request.tried ??= []
    request.tried.push(node)
  }
}

/** Kind of a failed call. @param isStale the connection was reused, and nothing of the response arrived. */
export function classifyFailure(kind: FailureKind, isStale: boolean): AttemptFailure {
  switch (kind) {
    case 'connect':
    case 'connect-timeout':
      return 'connect'
    case 'full':
      return 'unsent'
    case 'closed':
      return isStale ? 'stale' : 'reset'
    default:
      return 'gateway'
  }
}

/**
 * Decides if a failed attempt may be retried (RFC 9110 §9.2.2): on another node if the request certainly never reached
 * one; once if repeating is safe, on the same node only after losing a reused connection.
 *
 * @param isRepeatable the request is safe to repeat, and no byte of a response has arrived.
 */
export function mayRetry(
  request: Attempts,
  failure: AttemptFailure,
  isRepeatable: boolean,
): boolean {
  switch (failure) {
    case 'connect':
    case 'unsent':
      return hasUntriedNode(request)
    case 'reset':
      return isRepeatable && request.attempts < REPEATED_MAX && hasUntriedNode(request)
    case 'stale':
      return isRepeatable && request.attempts < REPEATED_MAX
    default:
      return false
  }
}

/** Route or endpoint of a request for outlier detection: for an undeclared path its first two segments. */
export function toRouteName({ route, path }: Exchange): string {
  return route?.rule?.name ?? (route?.endpoint || path.split('/', 3).join('/'))
}

function hasUntriedNode({ upstream, tried = [] }: Attempts): boolean {
  return tried.length < NODES_MAX && upstream!.others(tried).length > 0
}
