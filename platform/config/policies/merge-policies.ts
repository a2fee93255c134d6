import { DEFAULT_POLICIES, type UpstreamPolicies } from '../../../core/upstream/policies.ts'
import type { ConfiguredPolicies } from './parse-policies.ts'

/** Policies in force. @param layers in increasing precedence */
export function mergePolicies(
  zone: string,
  ...layers: readonly (ConfiguredPolicies | undefined)[]
): UpstreamPolicies {
  let merged: UpstreamPolicies = { ...DEFAULT_POLICIES, zone }
  for (const { outlier, ...values } of layers.filter((layer) => layer !== undefined))
    merged = { ...merged, ...values, outlier: { ...merged.outlier, ...outlier } }
  return merged
}
