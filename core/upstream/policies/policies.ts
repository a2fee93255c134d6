import type { ConcurrencyOptions } from '../concurrency/concurrency-options.ts'
import type { BreakerOptions } from '../health/breaker.ts'
import type { HealthOptions } from '../health/health-options.ts'
import { DEFAULT_OUTLIER, type OutlierOptions } from '../health/outlier-detection.ts'
import type { HedgeOptions } from '../retry/hedge-options.ts'
import { DEFAULT_RETRY, type RetryOptions } from '../retry/retry-options.ts'

/** Determines which nodes of a service are used, and how much; `balance` selects one of them. */
export interface UpstreamPolicies {
  readonly outlier: OutlierOptions
  readonly retry: RetryOptions
  /** @default no hedging */
  readonly hedge?: HedgeOptions | undefined
  /** Limit of concurrent requests. @default no limit */
  readonly concurrency?: ConcurrencyOptions | undefined
  /** Circuit breakers of the service and its nodes. @default none */
  readonly breaker?: BreakerOptions | undefined
  /** Percentage of usable nodes below which all nodes are used, even failing ones. @default 50 */
  readonly panicThreshold: number
  /** Time in which a new or returning node gets an increasing share of requests, in milliseconds. @default 0 */
  readonly slowStartMs: number
  /** Active health checks. @default no checks */
  readonly health?: HealthOptions | undefined
  /** Zone of this process, whose nodes are preferred while enough of them are usable; empty if unknown. @default '' */
  readonly zone: string
  /** Maximum number of nodes that this process uses, unchanged while they are registered; 0 for all. @default 0 */
  readonly subset: number
}

export const DEFAULT_POLICIES: UpstreamPolicies = {
  outlier: DEFAULT_OUTLIER,
  retry: DEFAULT_RETRY,
  panicThreshold: 50,
  slowStartMs: 0,
  zone: '',
  subset: 0,
}
