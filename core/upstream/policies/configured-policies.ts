import type { ConcurrencyOptions } from '../concurrency/concurrency-options.ts'
import type { BreakerOptions } from '../health/breaker.ts'
import type { HealthOptions } from '../health/health-options.ts'
import type { OutlierOptions } from '../health/outlier-detection.ts'
import type { HedgeOptions } from '../retry/hedge-options.ts'
import type { RetryOptions } from '../retry/retry-options.ts'
import type { PolicyValues } from './policy-table.ts'

/** Policies as configured. Missing values are inherited. */
export interface ConfiguredPolicies extends PolicyValues {
  readonly outlier?: Partial<OutlierOptions> | undefined
  readonly retry?: Partial<RetryOptions> | undefined
  readonly hedge?: Partial<HedgeOptions> | undefined
  /** `off` disables the inherited limit of the gateway or, in a route, of the service. */
  readonly concurrency?: Partial<ConcurrencyOptions> | 'off' | undefined
  /** `off` disables the inherited circuit breakers of the gateway. */
  readonly breaker?: Partial<BreakerOptions> | 'off' | undefined
  /** `off` disables the inherited health checks of the gateway. */
  readonly health?: Partial<HealthOptions> | 'off' | undefined
}
