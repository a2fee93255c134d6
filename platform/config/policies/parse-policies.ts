import { isMap } from 'yaml'
import type { OutlierOptions } from '../../../core/upstream/health/outlier-detection.ts'
import { readMap } from '../actions/read-map.ts'
import { readScalar } from '../services/values.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'
import { OUTLIER, type PolicyTable, type PolicyValues, VALUES } from './table.ts'

/** Policies as configured; missing values are inherited. */
export interface ConfiguredPolicies extends PolicyValues {
  readonly outlier?: Partial<OutlierOptions> | undefined
}

/** Keys of policies in `mx.yaml`, of the gateway and of services. */
export const POLICY_KEYS: readonly string[] = [
  'outlier',
  ...Object.values(VALUES).map(({ name }) => name),
]
/** Disables outlier detection. */
const NO_OUTLIER: Partial<OutlierOptions> = {
  consecutive5xx: 0,
  consecutiveGatewayErrors: 0,
  failurePercentage: 0,
  latencyFactor: 0,
}

/** Reads the policies among the keys of the gateway or of a service. */
export function readPolicies(
  source: YamlSource,
  what: string,
  entries: ReadonlyMap<string, YamlEntry>,
): ConfiguredPolicies {
  const outlier = entries.get('outlier')
  return {
    ...readFields(source, what, entries, VALUES),
    ...(outlier && { outlier: readOutlier(source, what, outlier) }),
  }
}

function readOutlier(
  source: YamlSource,
  what: string,
  entry: YamlEntry,
): Partial<OutlierOptions> | undefined {
  const text = isMap(source.follow(entry.value)) ? undefined : source.text(entry.value)
  if (text === 'off' || text === 'false') return NO_OUTLIER
  const names = Object.values(OUTLIER).map(({ name }) => name)
  const of = `outlier of ${what}`
  return readFields(source, of, readMap(source, of, entry, names), OUTLIER)
}

function readFields<P extends object>(
  source: YamlSource,
  what: string,
  entries: ReadonlyMap<string, YamlEntry>,
  table: PolicyTable<P>,
): Partial<P> {
  const values: Partial<P> = {}
  for (const key of Object.keys(table) as (keyof P)[]) {
    const { name } = table[key]
    const value = readScalar(source, `${name} of ${what}`, entries.get(name), table[key])
    if (value !== undefined) values[key] = value
  }
  return values
}
