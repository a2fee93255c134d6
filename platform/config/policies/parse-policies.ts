import { isMap } from 'yaml'
import type { ConcurrencyOptions } from '../../../core/upstream/concurrency/concurrency-options.ts'
import type { OutlierOptions } from '../../../core/upstream/health/outlier-detection.ts'
import type { HedgeOptions } from '../../../core/upstream/retry/hedge-options.ts'
import { NO_RETRY, type RetryOptions } from '../../../core/upstream/retry/retry-options.ts'
import { readMap } from '../actions/read-map.ts'
import { References } from '../references/references.ts'
import { readList, readScalar } from '../services/values.ts'
import { type YamlEntry, YamlSource } from '../yaml-source.ts'
import type { ConfiguredPolicies } from './configured-policies.ts'
import {
  BREAKER_FIELDS,
  CONCURRENCY_FIELDS,
  HEALTH_FIELDS,
  HEDGE_FIELDS,
  OUTLIER_FIELDS,
  type PolicyTable,
  RETRY_FIELDS,
  VALUE_FIELDS,
} from './table.ts'

/** Keys of policies in `mx.yaml`, of the gateway and of services. */
export const POLICY_KEYS: readonly string[] = [
  'outlier',
  'retry',
  'hedge',
  'concurrency',
  'breaker',
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

/** Longest policies in the registry, characters. */
const TEXT_MAX = 4096
/** Shortest interval of checks in the registry: a service may have thousands of nodes. */
const INTERVAL_MIN_MS = 1000

/**
 * Parses the policies of a service in the registry: JSON with the keys of `mx.yaml`. Checks have the port and no body:
 * otherwise a service could let the gateway send requests to others. Nor are they more frequent than once a second.
 *
 * @throws {RangeError} with the first problem.
 */
export function parsePolicies(text: string): ConfiguredPolicies {
  const source = openJson(text)
  const entry = { key: source.root, value: source.root }
  const policies = readPolicies(source, 'mx/policies', readMap(source, 'it', entry, POLICY_KEYS))
  const [problem] = source.problems
  if (problem !== undefined) throw new RangeError(problem.replace(/^[^ ]* /, ''))
  const { health, concurrency } = policies
  if (concurrency !== undefined)
    throw new RangeError('concurrency is a setting of services in mx.yaml only')
  if (typeof health === 'object' && (health.port !== undefined || health.body !== undefined))
    throw new RangeError('port and body of health are settings of services in mx.yaml only')
  if (
    typeof health === 'object' &&
    Math.min(health.intervalMs ?? INTERVAL_MIN_MS, health.unhealthyIntervalMs ?? INTERVAL_MIN_MS) <
      INTERVAL_MIN_MS
  )
    throw new RangeError(
      'interval and unhealthy_interval of health must be at least 1s, except in mx.yaml',
    )
  return policies
}

function openJson(text: string): YamlSource {
  try {
    if (text.length > TEXT_MAX || text.includes('${')) throw new SyntaxError()
    // References would be resolved, and YAML has aliases.
    return new YamlSource(JSON.stringify(JSON.parse(text)), '', new References({}))
  } catch (error) {
    throw new RangeError(
      `must be JSON of at most ${TEXT_MAX} characters without references, such as {"retry":"off"}`,
      { cause: error },
    )
  }
}

/** Reads the policies among the keys of the gateway or of a service. */
export function readPolicies(
  source: YamlSource,
  what: string,
  entries: ReadonlyMap<string, YamlEntry>,
): ConfiguredPolicies {
  const outlier = entries.get('outlier')
  const retry = entries.get('retry')
  const hedge = entries.get('hedge')
  const breaker = entries.get('breaker')
  const concurrency = entries.get('concurrency')
  const health = entries.get('health')
  return {
    ...readFields(source, what, entries, VALUE_FIELDS),
    ...(outlier && {
      outlier: readGroup(source, `outlier of ${what}`, outlier, OUTLIER_FIELDS, NO_OUTLIER),
    }),
    ...(hedge && { hedge: readHedge(source, what, hedge) }),
    ...(concurrency && { concurrency: readConcurrency(source, what, concurrency) }),
    ...(breaker && {
      breaker: readGroup(source, `breaker of ${what}`, breaker, BREAKER_FIELDS, 'off' as const),
    }),
    ...(retry && { retry: readRetry(source, what, retry) }),
    ...(health && { health: readHealth(source, what, health) }),
  }
}

/** Reads `retry:` of the gateway, a service or a route. */
export function readRetry(
  source: YamlSource,
  what: string,
  entry: YamlEntry,
): Partial<RetryOptions> | undefined {
  return readGroup(source, `retry of ${what}`, entry, RETRY_FIELDS, NO_RETRY)
}

/** Reads `hedge:` of the gateway, a service or a route. */
export function readHedge(
  source: YamlSource,
  what: string,
  entry: YamlEntry,
): Partial<HedgeOptions> | undefined {
  return readGroup(source, `hedge of ${what}`, entry, HEDGE_FIELDS, { max: 0 })
}

/** Reads `concurrency:` of the gateway, a service or a route. */
export function readConcurrency(
  source: YamlSource,
  what: string,
  entry: YamlEntry,
): Partial<ConcurrencyOptions> | 'off' | undefined {
  return readGroup(source, `concurrency of ${what}`, entry, CONCURRENCY_FIELDS, 'off' as const)
}

/** Reads a map of fields, or `off`. */
function readGroup<P extends object, Off>(
  source: YamlSource,
  of: string,
  entry: YamlEntry,
  table: PolicyTable<P>,
  off: Off,
): Partial<P> | Off | undefined {
  const text = isMap(source.follow(entry.value)) ? undefined : source.text(entry.value)
  if (text === 'off' || text === 'false') return off
  if (text !== undefined) {
    source.report(
      entry.value ?? entry.key,
      `${of} must be a map or off, got ${JSON.stringify(text)}`,
    )
    return undefined
  }
  return readFields(source, of, readNested(source, of, entry, namesOf(table)), table)
}

/** Keys of a map; `a.b` is the key `b` of the map `a`. */
function readNested(
  source: YamlSource,
  of: string,
  entry: YamlEntry,
  names: readonly string[],
): ReadonlyMap<string, YamlEntry> {
  const entries = new Map(
    readMap(source, of, entry, [...new Set(names.map((name) => name.split('.')[0]!))]),
  )
  for (const [key, inner] of entries) {
    const keys = names.filter((name) => name.startsWith(`${key}.`))
    if (keys.length === 0) continue
    const short = keys.map((name) => name.slice(key.length + 1))
    for (const [name, value] of readMap(source, `${key} of ${of}`, inner, short))
      entries.set(`${key}.${name}`, value)
  }
  return entries
}

function namesOf<P extends object>(table: PolicyTable<P>): string[] {
  return Object.values<{ readonly name: string }>(table).map(({ name }) => name)
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
  const entries = readMap(source, of, entry, namesOf(HEALTH_FIELDS))
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
    const { name, kind } = table[key]
    const read = kind === 'list' ? readList : readScalar
    const value = read(source, `${name} of ${what}`, entries.get(name), table[key])
    if (value !== undefined) values[key] = value
  }
  return values
}
