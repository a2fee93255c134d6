import type { Exchange } from '../../exchange.ts'
import type { CallTimeouts } from '../call.ts'

/**
 * Reason for retrying a request: no connection, a connection lost before the response, or a status from the node. A
 * malformed response counts as 502, a late response as 504.
 */
export type RetryReason = 'connect' | 'reset' | number

/** Conditions under which a failed request is retried. */
export interface RetryOptions {
  /**
   * Maximum number of attempts, including the first, for a request that a node may have served; 1 disables retries.
   * @default 2
   */
  readonly attempts: number
  /** @default connect, reset, 502, 503, 504 */
  readonly on: ReadonlySet<RetryReason>
  /**
   * Methods that may be repeated. Requests with `Idempotency-Key` always may.
   * - `safe`: GET, HEAD and QUERY.
   * - `idempotent`: also PUT, DELETE, OPTIONS and TRACE (RFC 9110 §9.2.2).
   *
   * @default safe
   */
  readonly methods: 'safe' | 'idempotent'
  /** Response timeout of each attempt in milliseconds; 0 for the response timeout of the service. @default 0 */
  readonly perTryTimeoutMs: number
  /**
   * Pause before the first retry in milliseconds, randomly reduced by up to half; doubled for each further retry.
   * @default 25
   */
  readonly backoffBaseMs: number
  /** Maximum pause in milliseconds. A response with a longer `Retry-After` is not retried. @default 250 */
  readonly backoffMaxMs: number
  /** Maximum number of retries, as a percentage of the requests to the service in the last 10 s. @default 20 */
  readonly budgetPercent: number
  /** Number of concurrent retries allowed while the service receives fewer than ten requests per second. @default 3 */
  readonly minConcurrency: number
}

export const DEFAULT_RETRY: RetryOptions = {
  attempts: 2,
  on: new Set<RetryReason>(['connect', 'reset', 502, 503, 504]),
  methods: 'safe',
  perTryTimeoutMs: 0,
  backoffBaseMs: 25,
  backoffMaxMs: 250,
  budgetPercent: 20,
  minConcurrency: 3,
}

/** Disables retries, even of requests that no node received. */
export const NO_RETRY: Pick<RetryOptions, 'attempts' | 'on'> = { attempts: 1, on: new Set() }

/** Whether a request may be sent to a second node although the first may have served it. */
export function isRepeatable(
  { method, headers }: Pick<Exchange, 'method' | 'headers'>,
  { methods }: RetryOptions,
): boolean {
  switch (method) {
    case 'GET':
    case 'HEAD':
    case 'QUERY':
      return true
    case 'PUT':
    case 'DELETE':
    case 'OPTIONS':
    case 'TRACE':
      if (methods === 'idempotent') return true
  }
  return (headers.get('idempotency-key') ?? '') !== ''
}

/** Returns the timeouts of an attempt. */
export function limitAttempt(
  timeouts: CallTimeouts | undefined,
  { perTryTimeoutMs }: RetryOptions,
): CallTimeouts | undefined {
  if (perTryTimeoutMs === 0) return timeouts
  const { replyMs = perTryTimeoutMs, idleMs } = timeouts ?? {}
  return { replyMs: Math.min(replyMs, perTryTimeoutMs), idleMs }
}
