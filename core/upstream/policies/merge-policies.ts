import { type ConcurrencyOptions, DEFAULT_CONCURRENCY } from '../concurrency/concurrency-options.ts'
import { type BreakerOptions, DEFAULT_BREAKER } from '../health/breaker.ts'
import { DEFAULT_HEALTH, type HealthOptions } from '../health/health-options.ts'
import { DEFAULT_HEDGE } from '../retry/hedge-options.ts'
import type { ConfiguredPolicies } from './configured-policies.ts'
import { DEFAULT_POLICIES, type UpstreamPolicies } from './policies.ts'

/** Merges policies. @param layers in order of increasing precedence. */
export function mergePolicies(
  zone: string,
  ...layers: readonly (ConfiguredPolicies | undefined)[]
): UpstreamPolicies {
  let merged: UpstreamPolicies = { ...DEFAULT_POLICIES, zone }
  for (const { outlier, retry, hedge, concurrency, breaker, health, ...values } of layers.filter(
    (layer) => layer !== undefined,
  ))
    merged = {
      ...{ ...merged, ...values },
      outlier: { ...merged.outlier, ...outlier },
      retry: { ...merged.retry, ...retry },
      ...(hedge && { hedge: { ...DEFAULT_HEDGE, ...merged.hedge, ...hedge } }),
      concurrency:
        concurrency === 'off' ? undefined : mergeConcurrency(merged.concurrency, concurrency),
      breaker: breaker === 'off' ? undefined : mergeBreaker(merged.breaker, breaker),
      health: health === 'off' ? undefined : mergeHealth(merged.health, health),
    }
  return merged
}

function mergeConcurrency(
  inherited: ConcurrencyOptions | undefined,
  overrides: Partial<ConcurrencyOptions> | undefined,
): ConcurrencyOptions | undefined {
  return overrides === undefined
    ? inherited
    : { ...DEFAULT_CONCURRENCY, ...inherited, ...overrides }
}

function mergeBreaker(
  inherited: BreakerOptions | undefined,
  overrides: Partial<BreakerOptions> | undefined,
): BreakerOptions | undefined {
  return overrides === undefined ? inherited : { ...DEFAULT_BREAKER, ...inherited, ...overrides }
}

/** Merges health checks. A path is only inherited together with its type. */
function mergeHealth(
  inherited: HealthOptions | undefined,
  overrides: Partial<HealthOptions> | undefined,
): HealthOptions | undefined {
  if (overrides === undefined) return inherited
  const { path: _, ...rest } = inherited ?? DEFAULT_HEALTH
  const isSameType = overrides.type === undefined || overrides.type === inherited?.type
  return { ...DEFAULT_HEALTH, ...(isSameType ? inherited : rest), ...overrides }
}
