import { type ConcurrencyOptions, DEFAULT_CONCURRENCY } from '../concurrency/concurrency-options.ts'
import { type BreakerOptions, DEFAULT_BREAKER } from '../health/breaker.ts'
import { DEFAULT_HEALTH, type HealthOptions } from '../health/health-options.ts'
import { DEFAULT_HEDGE } from '../retry/hedge-options.ts'
import type { ConfiguredPolicies } from './configured-policies.ts'
import { DEFAULT_POLICIES, type UpstreamPolicies } from './policies.ts'

/** Policies in force. @param layers in increasing precedence */
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
  own: Partial<ConcurrencyOptions> | undefined,
): ConcurrencyOptions | undefined {
  return own === undefined ? inherited : { ...DEFAULT_CONCURRENCY, ...inherited, ...own }
}

function mergeBreaker(
  inherited: BreakerOptions | undefined,
  own: Partial<BreakerOptions> | undefined,
): BreakerOptions | undefined {
  return own === undefined ? inherited : { ...DEFAULT_BREAKER, ...inherited, ...own }
}

/** A path is inherited with its type only. */
function mergeHealth(
  inherited: HealthOptions | undefined,
  own: Partial<HealthOptions> | undefined,
): HealthOptions | undefined {
  if (own === undefined) return inherited
  const { path: _, ...rest } = inherited ?? DEFAULT_HEALTH
  const isSameType = own.type === undefined || own.type === inherited?.type
  return { ...DEFAULT_HEALTH, ...(isSameType ? inherited : rest), ...own }
}
