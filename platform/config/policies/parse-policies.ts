import { isMap } from 'yaml'
import type { OutlierOptions } from '../../../core/upstream/health/outlier-detection.ts'
import { readMap } from '../actions/read-map.ts'
import { readScalar } from '../services/values.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'
import type { ConfiguredPolicies } from './configured-policies.ts'
import { HEALTH_FIELDS, OUTLIER_FIELDS, type PolicyTable, VALUE_FIELDS } from './table.ts'

/** Keys of policies in `mx.yaml`, of the gateway and of services. */
export const POLICY_KEYS: readonly string[] = [
  'outlier',
  'health',
  ...Object.values(VALUE_FIELDS).map(({ name }) => name),
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
  const health = entries.get('health')
  return {
    ...readFields(source, what, entries, VALUE_FIELDS),
    ...(outlier && { outlier: readOutlier(source, what, outlier) }),
    ...(health && { health: readHealth(source, what, health) }),
  }
}

function readOutlier(
  source: YamlSource,
  what: string,
  entry: YamlEntry,
): Partial<OutlierOptions> | undefined {
  const text = isMap(source.follow(entry.value)) ? undefined : source.text(entry.value)
  if (text === 'off' || text === 'false') return NO_OUTLIER
  const names = Object.values(OUTLIER_FIELDS).map(({ name }) => name)
  const of = `outlier of ${what}`
  if (text !== undefined) {
    source.report(
      entry.value ?? entry.key,
      `${of} must be a map or off, got ${JSON.stringify(text)}`,
    )
    return undefined
  }
  return readFields(source, of, readMap(source, of, entry, names), OUTLIER_FIELDS)
}

/** Reads `health:`: a path, a map or `off`. */
function readHealth(
  source: YamlSource,
  what: string,
  entry: YamlEntry,
): ConfiguredPolicies['health'] {
  const of = `health of ${what}`
  const text = isMap(source.follow(entry.value)) ? undefined : source.text(entry.value)
  if (text === 'off' || text === 'false') return 'off'
  if (text?.startsWith('/')) {
    const entries = new Map([['path', { ...entry, name: 'path' }]])
    return { type: 'http', ...readFields(source, of, entries, HEALTH_FIELDS) }
  }
  if (text !== undefined) {
    source.report(
      entry.value ?? entry.key,
      `${of} must be a path such as /healthz, a map or off, got ${JSON.stringify(text)}`,
    )
    return undefined
  }
  const names = Object.values(HEALTH_FIELDS).map(({ name }) => name)
  const entries = readMap(source, of, entry, names)
  const options = readFields(source, of, entries, HEALTH_FIELDS)
  const { type = 'http', path = '' } = options
  if (path !== '' && type === 'http' && !path.startsWith('/'))
    source.report(
      entries.get('path')!.value,
      `path of ${of} must begin with /, got ${JSON.stringify(path)}`,
    )
  if (path !== '' && (type === 'tcp' || type === 'mx'))
    source.report(
      entries.get('path')!.key,
      `path of ${of} has no effect with type ${type}: remove it`,
    )
  return options
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
