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
  return readGroup(source, `hedge of ${what}`, entry, HEDGE_FIELDS, NO_HEDGE)
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

/** Returns the keys of a map. `a.b` is the key `b` of the map `a`. */
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
  const problem = findPathProblem(options)
  if (problem !== undefined) source.report(entries.get('path')!.value, `path of ${of} ${problem}`)
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
