import { formatDuration } from '../../../lib/text/units.ts'
import type { ConfiguredPolicies } from './parse-policies.ts'
import { OUTLIER, type PolicyField, VALUES } from './table.ts'

/** Configured values by key, such as `outlier.interval`, as written in `mx.yaml`. */
export function describePolicies({
  outlier = {},
  ...values
}: ConfiguredPolicies): [key: string, value: string][] {
  return [...describe('outlier.', outlier, OUTLIER), ...describe('', values, VALUES)]
}

function describe(
  prefix: string,
  values: object,
  table: Readonly<Record<string, PolicyField<unknown>>>,
): [key: string, value: string][] {
  return Object.entries(values).map(([key, value]) => [
    `${prefix}${table[key]!.name}`,
    key.endsWith('Ms') ? formatDuration(value as number) : String(value),
  ])
}
