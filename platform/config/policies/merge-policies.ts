import { DEFAULT_HEALTH } from '../../../core/upstream/health/health-options.ts'
import { DEFAULT_POLICIES, type UpstreamPolicies } from '../../../core/upstream/policies.ts'
import type { ConfiguredPolicies } from './configured-policies.ts'

/** Policies in force. @param layers in increasing precedence */
export function mergePolicies(
  zone: string,
  ...layers: readonly (ConfiguredPolicies | undefined)[]
): UpstreamPolicies {
  let merged: UpstreamPolicies = { ...DEFAULT_POLICIES, zone }
  for (const { outlier, health, ...values } of layers.filter((layer) => layer !== undefined))
    merged = {
      ...{ ...merged, ...values },
      outlier: { ...merged.outlier, ...outlier },
      health:
        health === 'off'
          ? undefined
          : ((health && { ...DEFAULT_HEALTH, ...merged.health, ...health }) ?? merged.health),
    }
  return merged
}
