import type { ConfiguredPolicies } from '../../../core/upstream/policies/configured-policies.ts'
import {
  BREAKER_FIELDS,
  CONCURRENCY_FIELDS,
  HEALTH_FIELDS,
  HEDGE_FIELDS,
  OUTLIER_FIELDS,
  type PolicyField,
  RETRY_FIELDS,
  VALUE_FIELDS,
} from '../../../core/upstream/policies/policy-table.ts'
import { formatTime } from '../../../lib/values/format-time.ts'

/** Returns the configured values by key, such as `outlier.interval`, as written in `mx.yaml`. */
export function describePolicies({
  outlier,
  retry,
  hedge,
  concurrency,
  breaker,
  health,
  ...values
}: ConfiguredPolicies): [key: string, value: string][] {
  return [
    ...describe('outlier', outlier, OUTLIER_FIELDS),
    ...describe('retry', retry, RETRY_FIELDS),
    ...describe('hedge', hedge, HEDGE_FIELDS),
    ...describe('concurrency', concurrency, CONCURRENCY_FIELDS),
    ...describe('breaker', breaker, BREAKER_FIELDS),
    ...describe('health', health, HEALTH_FIELDS),
    ...describeFields('', values, VALUE_FIELDS),
  ]
}

type Fields = Readonly<Record<string, PolicyField<unknown>>>

function describe(
  group: string,
  values: object | 'off' | undefined,
  table: Fields,
): [key: string, value: string][] {
  if (values === undefined) return []
  if (values === 'off') return [[group, 'off']]
  const fields = describeFields(group, values, table)
  return fields.length === 0 ? [[group, 'with defaults']] : fields
}

function describeFields(
  group: string,
  values: object,
  table: Fields,
): [key: string, value: string][] {
  return Object.entries(values).map(([key, value]) => [
    `${group === '' ? '' : `${group}.`}${table[key]!.name}`,
    formatValue(table[key]!, key, value),
  ])
}

function formatValue({ format }: PolicyField<unknown>, key: string, value: unknown): string {
  if (format !== undefined) return format(value)
  return key.endsWith('Ms') ? formatTime(value as number) : String(value)
}
