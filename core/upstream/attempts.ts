import { toBackOffMs } from '../../lib/async/backoff.ts'
import { tickNow } from '../../lib/time/tick-clock.ts'
import type { Exchange } from '../exchange.ts'
import type { FailureKind } from './call.ts'
import { UNKNOWN_LATENCY } from './health/outlier-window.ts'
import type { UpstreamNode } from './node/upstream-node.ts'
import type { RetryOptions } from './retry/retry-options.ts'
import type { Upstream } from './upstream.ts'

/** Maximum nodes tried per request: in general, and if the last node immediately refused the connection. */
const NODES_MAX = 5
const UNREACHABLE_NODES_MAX = 20
const AT_ONCE_MS = 100

/**
 * Reason why an attempt failed; Envoy's name for the retry condition is in parentheses.
 * - `connect`: no connection could be opened; not sent (`connect-failure`).
 * - `unsent`: known to be unprocessed, through no fault of the node: it accepts no more requests, or all connections
 *   are busy (`refused-stream`).
 * - `reset`: the connection ended before the end of the response; the node may have served the request (`reset`).
 * - `stale`: same, on a reused connection, whose end may have crossed the request; does not affect the node's health.
 * - `gateway`: the response was malformed or late.
 * - `neutral`: ended by the caller's deadline, or by another request on the connection; does not affect the node's
 *   health.
 */
export type AttemptFailure = 'connect' | 'unsent' | 'reset' | 'stale' | 'gateway' | 'neutral'

/**
 * A request or call that is sent to nodes of a service until one serves it.
 *
 * Implemented by the request object itself, which saves an allocation per request. The functions of this module manage
 * the fields.
 */
export interface Attempts {
  /** Candidate nodes. */
  upstream: Upstream | undefined
  /** Node of the current or last attempt. */
  node: UpstreamNode | undefined
  /** Number of attempts started. */
  attempts: number
  /** Nodes that failed to serve the request. */
  tried: UpstreamNode[] | undefined
  inFlight: boolean
  /** Whether the result of the attempt in flight has not been recorded. */
  isAwaited: boolean
  /** Whether the current or next attempt counts towards the retry budget of the service. */
  isRetrying: boolean
  /** `performance.now()` at the start of the last attempt. */
  attemptStartMs: number
  /** Route or endpoint for outlier detection, only read while a node is failing. */
  readonly routeName: string
  /** Retry options of its route. @default the options of the service */
  readonly retry?: RetryOptions | undefined
}

/** Selects the node for the next attempt. Returns undefined if no node is left. */
export function pickNode(request: Attempts, x: Exchange | undefined): UpstreamNode | undefined {
  return request.upstream?.pick(x, request.node, request.tried)
}

/** Starts an attempt, which counts as a request in flight on the node. */
export function beginAttempt(request: Attempts, node: UpstreamNode): void {
  const upstream = request.upstream!
  if (request.attempts++ > 0) upstream.retried()
  else upstream.budget.requests++
  request.node = node
  request.inFlight = true
  request.isAwaited = true
  request.attemptStartMs = tickNow()
  node.active++
}

/**
 * Ends the attempt in flight or the pause before it, if any. Its result, if any, must be recorded before.
 *
 * @param isLast false if {@link takeRetry} has allowed another attempt.
 */
export function endAttempt(request: Attempts, isLast = true): void {
  if (isLast && request.isRetrying) {
    request.isRetrying = false
    request.upstream!.budget.release()
  }
  if (!request.inFlight) return
  request.inFlight = false
  request.node!.active--
  if (!request.isAwaited) return
  request.isAwaited = false
  request.upstream!.withdrawn(request.node!)
}

/** Records that the node responded, with any result. */
export function recordSuccess(request: Attempts): void {
  request.isAwaited = false
  request.upstream!.responded(request.node!, 200, UNKNOWN_LATENCY, request)
}

/** Records the HTTP status of the node's response. */
export function recordStatus(request: Attempts, status: number): void {
  request.isAwaited = false
  request.upstream!.responded(request.node!, status, tickNow() - request.attemptStartMs, request)
}

/**
 * Records a failed attempt.
 *
 * @param isCounted false if outlier detection has counted the failure for another request on the same connection.
 */
export function recordFailure(request: Attempts, failure: AttemptFailure, isCounted = true): void {
  const node = request.node!
  if (isCounted && (failure === 'connect' || failure === 'reset' || failure === 'gateway')) {
    request.isAwaited = false
    request.upstream!.failed(node, failure, request.routeName)
  }
  if (failure === 'connect' || failure === 'unsent' || failure === 'reset') {
    request.tried ??= []
    request.tried.push(node)
  }
}

/**
 * Returns the kind of a failed call.
 *
 * @param isStale whether the connection was reused and no part of the response arrived.
 */
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
 * Decides whether a failed attempt may be retried (RFC 9110 §9.2.2). Another node may be tried if the request is known
 * not to have reached one. Otherwise repeating must be safe and within the limits of {@link RetryOptions}, and on the
 * same node only after losing a reused connection. If true, the request may count towards the retry budget until {@link
 * endAttempt}.
 *
 * @param isRepeatable whether the request is safe to repeat and no part of a response was relayed.
 */
export function mayRetry(
  request: Attempts,
  failure: AttemptFailure,
  isRepeatable: boolean,
): boolean {
  const { attempts, on } = optionsOf(request)
  switch (failure) {
    case 'connect': {
      const hasFailedAtOnce = tickNow() - request.attemptStartMs < AT_ONCE_MS
      return (
        on.has('connect') &&
        hasUntriedNode(request, hasFailedAtOnce ? UNREACHABLE_NODES_MAX : NODES_MAX)
      )
    }
    case 'unsent':
      return on.has('connect') && hasUntriedNode(request)
    case 'reset':
      return isRepeatable && on.has('reset') && takeRetry(request)
    case 'stale':
      return isRepeatable && on.has('reset') && request.attempts < attempts
    default:
      return false
  }
}

/**
 * Whether a request may be retried on another node after a response with `status`, or after a malformed (502) or late
 * (504) response.
 *
 * @param retryAfterMs delay requested by the node, in milliseconds.
 */
export function mayRetryStatus(request: Attempts, status: number, retryAfterMs = 0): boolean {
  const { on, backoffMaxMs } = optionsOf(request)
  if (!on.has(status) || retryAfterMs > backoffMaxMs) return false
  request.tried ??= []
  if (!request.tried.includes(request.node!)) request.tried.push(request.node!)
  return takeRetry(request)
}

/**
 * Pause before the next attempt in milliseconds; 0 if the request was not sent or does not count towards the budget.
 */
export function toPauseMs(request: Attempts): number {
  const { backoffBaseMs, backoffMaxMs } = optionsOf(request)
  if (!request.isRetrying || backoffBaseMs === 0) return 0
  return toBackOffMs(request.attempts - 1, { minMs: backoffBaseMs, maxMs: backoffMaxMs })
}

/** Permits an attempt on another node within the maximum number of attempts and the retry budget. */
export function takeRetry(request: Attempts): boolean {
  if (request.attempts >= optionsOf(request).attempts || !hasUntriedNode(request)) return false
  return takeBudget(request)
}

/** Decides whether a slow request may also be sent to another node. */
export function mayRace(request: Attempts): boolean {
  return hasUntriedNode(request) && takeBudget(request)
}

/** Counts a retry in the budget of the service. Returns false if the budget is exhausted. */
export function takeBudget(request: Attempts): boolean {
  if (request.isRetrying) return true
  request.isRetrying = request.upstream!.budget.take(optionsOf(request), tickNow())
  return request.isRetrying
}

function optionsOf({ retry, upstream }: Attempts): RetryOptions {
  return retry ?? upstream!.retry
}

/** Returns the route or endpoint of a request for outlier detection; for an undeclared path, its first two segments. */
export function toRouteName({ route, path }: Exchange): string {
  return route?.rule?.name ?? (route?.endpoint || path.split('/', 3).join('/'))
}

function hasUntriedNode({ upstream, tried = [] }: Attempts, most = NODES_MAX): boolean {
  return tried.length < most && upstream!.others(tried).length > 0
}
