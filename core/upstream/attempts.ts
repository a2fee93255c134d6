import type { Exchange } from '../exchange.ts'
import type { UpstreamNode } from './node-health.ts'
import type { Upstream } from './upstream.ts'

/** Most nodes tried for one request. */
const NODES_MAX = 5
/** Attempts of a request that a node may have served, the first included. */
const REPEATED_MAX = 2

/**
 * Why an attempt failed; Envoy's name for the retry condition in parentheses.
 * - `connect`: no connection came about; not sent (`connect-failure`).
 * - `unsent`: certainly not served, and no fault of the node: it takes no more requests, or all its connections are busy (`refused-stream`).
 * - `reset`: the connection ended before the end of the response; the node may have served the request (`reset`).
 * - `stale`: the same on a connection that had served others: its end may have crossed the request, and says nothing about the node.
 * - `gateway`: the response was malformed or late.
 * - `neutral`: ended by the caller's deadline, or by another request of the connection; says nothing about the node.
 */
export type AttemptFailure = 'connect' | 'unsent' | 'reset' | 'stale' | 'gateway' | 'neutral'

/**
 * A request, or a call, that is sent to nodes of a service one after the other until one of them serves it.
 *
 * Implemented by the object that carries it, which costs no further object for each request; the fields belong to the
 * functions of this module.
 */
export interface Attempts {
  /** The nodes it may be sent to. */
  upstream: Upstream | undefined
  /** Node of the current attempt, or of the last one. */
  node: UpstreamNode | undefined
  /** Attempts begun. */
  attempts: number
  /** Nodes that did not serve it. */
  tried: UpstreamNode[] | undefined
  /** Whether an attempt is in flight. */
  inFlight: boolean
}

/** Node for the next attempt; undefined: none is left. */
export function pickNode(request: Attempts, x: Exchange | undefined): UpstreamNode | undefined {
  return request.upstream?.pick(x, request.node, request.tried)
}

/** Begins an attempt, which is counted as a request in flight of the node. */
export function beginAttempt(request: Attempts, node: UpstreamNode): void {
  if (request.attempts++ > 0) request.upstream!.retried()
  request.node = node
  request.inFlight = true
  node.active++
}

/** Ends the attempt in flight, if there is one. */
export function endAttempt(request: Attempts): void {
  if (!request.inFlight) return
  request.inFlight = false
  request.node!.active--
}

/** The node responded, whatever the application said. */
export function recordSuccess({ upstream, node }: Attempts): void {
  upstream!.succeeded(node!)
}

/** The node responded with this HTTP status. */
export function recordStatus(request: Attempts, status: number): void {
  if (isGatewayError(status)) request.upstream!.failed(request.node!, 'status')
  else recordSuccess(request)
}

/**
 * The attempt failed.
 *
 * @param isCounted false: outlier detection has counted the failure for another request of the same connection.
 */
export function recordFailure(request: Attempts, failure: AttemptFailure, isCounted = true): void {
  const node = request.node!
  if (isCounted) {
    if (failure === 'connect') request.upstream!.failed(node, 'connect')
    else if (failure === 'reset' || failure === 'gateway') request.upstream!.failed(node, 'gateway')
  }
  if (failure === 'connect' || failure === 'unsent' || failure === 'reset') {
    request.tried ??= []
    request.tried.push(node)
  }
}

/**
 * Whether a failed attempt may be followed by another (RFC 9110 §9.2.2): on another node if the request certainly never
 * reached one; once more if repeating it does no harm, on the same node only if it lost a reused connection; else never.
 *
 * @param isRepeatable it may be served twice without harm, and no byte of a response has arrived.
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

/** Whether a status says that something between, not the application, failed: 502, 503 or 504. */
export function isGatewayError(status: number): boolean {
  return status === 502 || status === 503 || status === 504
}

function hasUntriedNode({ upstream, tried = [] }: Attempts): boolean {
  return tried.length < NODES_MAX && upstream!.others(tried).length > 0
}
