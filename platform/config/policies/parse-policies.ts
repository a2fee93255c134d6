import { isMap } from 'yaml'
import type { ConcurrencyOptions } from '../../../core/upstream/concurrency/concurrency-options.ts'
import type { ConfiguredPolicies } from '../../../core/upstream/policies/configured-policies.ts'
import {
  findPathProblem,
  NO_HEDGE,
  NO_OUTLIER,
} from '../../../core/upstream/policies/parse-policies.ts'
import {
  BREAKER_FIELDS,
  CONCURRENCY_FIELDS,
  HEALTH_FIELDS,
  HEDGE_FIELDS,
  OUTLIER_FIELDS,
  type PolicyTable,
  RETRY_FIELDS,
  VALUE_FIELDS,
} from '../../../core/upstream/policies/policy-table.ts'
import type { HedgeOptions } from '../../../core/upstream/retry/hedge-options.ts'
import { NO_RETRY, type RetryOptions } from '../../../core/upstream/retry/retry-options.ts'
import { readMap } from '../actions/read-map.ts'
import { readList, readScalar } from '../services/values.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'

/** Policy keys in `mx.yaml`, for the gateway and for services. */
export const POLICY_KEYS: readonly string[] = [
  'outlier',
  'retry',
  'hedge',
  'concurrency',
  'breaker',
  'health',
  ...Object.values(VALUE_FIELDS).map(({ name }) => name),
]

/** Reads the policies among the keys of the gateway or a service. */
export function readPolicies(
  source: YamlSource,
  label: string,
  entries: ReadonlyMap<string, YamlEntry>,
): ConfiguredPolicies {
  const outlier = entries.get('outlier')
  const retry = entries.get('retry')
  const hedge = entries.get('hedge')
  const breaker = entries.get('breaker')
  const concurrency = entries.get('concurrency')
  const health = entries.get('health')
  return {
    ...readFields(source, label, entries, VALUE_FIELDS),
    ...(outlier && {
      outlier: readGroup(source, `outlier of ${label}`, outlier, OUTLIER_FIELDS, NO_OUTLIER),
    }),
    ...(hedge && { hedge: readHedge(source, label, hedge) }),
    ...(concurrency && { concurrency: readConcurrency(source, label, concurrency) }),
    ...(breaker && {
      breaker: readGroup(source, `breaker of ${label}`, breaker, BREAKER_FIELDS, 'off' as const),
    }),
    ...(retry && { retry: readRetry(source, label, retry) }),
    ...(health && { health: readHealth(source, label, health) }),
  }
}

/** Reads `retry:` of the gateway, a service or a route. */
export function readRetry(
  source: YamlSource,
  label: string,
  entry: YamlEntry,
): Partial<RetryOptions> | undefined {
  return readGroup(source, `retry of ${label}`, entry, RETRY_FIELDS, NO_RETRY)
}

/** Reads `hedge:` of the gateway, a service or a route. */
export function readHedge(
  source: YamlSource,
  label: string,
  entry: YamlEntry,
): Partial<HedgeOptions> | undefined {
  return readGroup(source, `hedge of ${label}`, entry, HEDGE_FIELDS, NO_HEDGE)
}

/** Reads `concurrency:` of the gateway, a service or a route. */
export function readConcurrency(
  source: YamlSource,
  label: string,
  entry: YamlEntry,
): Partial<ConcurrencyOptions> | 'off' | undefined {
  return readGroup(source, `concurrency of ${label}`, entry, CONCURRENCY_FIELDS, 'off' as const)
}

/** Reads a map of fields, or `off`. */
function readGroup<P extends object, Off>(
  source: YamlSource,
  parent: string,
  entry: YamlEntry,
  table: PolicyTable<P>,
  off: Off,
): Partial<P> | Off | undefined {
  const text = isMap(source.follow(entry.value)) ? undefined : source.text(entry.value)
  if (text === 'off' || text === 'false') return off
  if (text !== undefined) {
    source.report(
      entry.value ?? entry.key,
      `${parent} must be a map or off, got ${JSON.stringify(text)}`,
    )
    return undefined
  }
  return readFields(source, parent, readNested(source, parent, entry, namesOf(table)), table)
}

/** Returns the keys of a map. `a.b` is the key `b` of the map `a`. */
function readNested(
  source: YamlSource,
  parent: string,
  entry: YamlEntry,
  names: readonly string[],
): ReadonlyMap<string, YamlEntry> {
  const entries = new Map(
    readMap(source, parent, entry, [...new Set(names.map((name) => name.split('.')[0]!))]),
  )
  for (const [key, inner] of entries) {
    const keys = names.filter((name) => name.startsWith(`${key}.`))
    if (keys.length === 0) continue
    const short = keys.map((name) => name.slice(key.length + 1))
    for (const [name, value] of readMap(source, `${key} of ${parent}`, inner, short))
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
  label: string,
  entry: YamlEntry,
): ConfiguredPolicies['health'] {
  const parent = `health of ${label}`
  const text = isMap(source.follow(entry.value)) ? undefined : source.text(entry.value)
  if (text === 'off' || text === 'false') return 'off'
  if (text?.startsWith('/')) {
    const entries = new Map([['path', { ...entry, name: 'path' }]])
    return { type: 'http', ...readFields(source, parent, entries, HEALTH_FIELDS) }
  }
  if (text !== undefined) {
    source.report(
      entry.value ?? entry.key,
      `${parent} must be a path such as /healthz, a map or off, got ${JSON.stringify(text)}`,
    )
    return undefined
  }
  const entries = readMap(source, parent, entry, namesOf(HEALTH_FIELDS))
  const options = readFields(source, parent, entries, HEALTH_FIELDS)
  const problem = findPathProblem(options)
  if (problem !== undefined)
    source.report(entries.get('path')!.value, `path of ${parent} ${problem}`)
  return options
}

function readFields<P extends object>(
  source: YamlSource,
  label: string,
  entries: ReadonlyMap<string, YamlEntry>,
  table: PolicyTable<P>,
): Partial<P> {
  const values: Partial<P> = {}
  for (const key of Object.keys(table) as (keyof P)[]) {
    const { name, kind } = table[key]
    const read = kind === 'list' ? readList : readScalar
    const value = read(source, `${name} of ${label}`, entries.get(name), table[key])
    if (value !== undefined) values[key] = value
  }
  return values
}
