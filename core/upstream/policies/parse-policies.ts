import { suggest } from '../../../lib/text/did-you-mean.ts'
import type { HealthOptions } from '../health/health-options.ts'
import type { OutlierOptions } from '../health/outlier-detection.ts'
import { NO_RETRY } from '../retry/retry-options.ts'
import type { ConfiguredPolicies } from './configured-policies.ts'
import {
  BREAKER_FIELDS,
  HEALTH_FIELDS,
  HEDGE_FIELDS,
  OUTLIER_FIELDS,
  type PolicyTable,
  RETRY_FIELDS,
  VALUE_FIELDS,
} from './policy-table.ts'

/** Disables outlier detection. */
export const NO_OUTLIER: Partial<OutlierOptions> = {
  consecutive5xx: 0,
  consecutiveGatewayErrors: 0,
  failurePercentage: 0,
  latencyFactor: 0,
}
/** Disables hedging. */
export const NO_HEDGE = { max: 0 }

const GROUPS = ['outlier', 'retry', 'hedge', 'breaker', 'health']
/** Maximum length of policies in characters. */
const TEXT_MAX = 4096
/** Minimum interval between checks, since a service may have thousands of nodes. */
const INTERVAL_MIN_MS = 1000

type Values = Readonly<Record<string, unknown>>

/**
 * Parses the policies of a service in the registry (`mx/policies`): JSON with the keys of `mx.yaml`. Health checks use
 * the port of the node, have no body, and run at most once per second; otherwise a service could make the gateway send
 * requests to other servers.
 *
 * @throws {RangeError} with the first problem.
 */
export function parsePolicies(text: string): ConfiguredPolicies {
  const { outlier, retry, hedge, breaker, health, concurrency, ...values } = parseJson(text)
  if (concurrency !== undefined) throw new RangeError('concurrency can only be set in mx.yaml')
  return {
    ...readFields('policies', values, VALUE_FIELDS, GROUPS),
    ...(outlier !== undefined && {
      outlier: readGroup('outlier', outlier, OUTLIER_FIELDS, NO_OUTLIER),
    }),
    ...(retry !== undefined && { retry: readGroup('retry', retry, RETRY_FIELDS, NO_RETRY) }),
    ...(hedge !== undefined && { hedge: readGroup('hedge', hedge, HEDGE_FIELDS, NO_HEDGE) }),
    ...(breaker !== undefined && {
      breaker: readGroup('breaker', breaker, BREAKER_FIELDS, 'off' as const),
    }),
    ...(health !== undefined && { health: readHealth(health) }),
  }
}

function parseJson(text: string): Values {
  try {
    const value: unknown = text.length > TEXT_MAX ? undefined : JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Reported below: the text is not JSON.
  }
  throw new RangeError(
    `must be a JSON object of at most ${TEXT_MAX} characters, such as {"retry":"off"}`,
  )
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readHealth(value: unknown): NonNullable<ConfiguredPolicies['health']> {
  const isPath = typeof value === 'string' && value.startsWith('/')
  const health = readGroup(
    'health',
    isPath ? { path: value } : value,
    HEALTH_FIELDS,
    'off' as const,
  )
  if (health === 'off') return health
  const problem = findPathProblem(health)
  if (problem !== undefined) throw new RangeError(`path of health ${problem}`)
  const { port, body, intervalMs = INTERVAL_MIN_MS, unhealthyIntervalMs = INTERVAL_MIN_MS } = health
  if (port !== undefined || body !== undefined)
    throw new RangeError('health.port and health.body can only be set in mx.yaml')
  if (Math.min(intervalMs, unhealthyIntervalMs) < INTERVAL_MIN_MS)
    throw new RangeError(
      'health.interval and health.unhealthy_interval must be at least 1s; shorter intervals can only be set in mx.yaml',
    )
  return isPath ? { ...health, type: 'http' } : health
}

/** Returns why the path of health checks cannot be used, phrased to follow its name, or undefined if it can. */
export function findPathProblem({
  type = 'http',
  path = '',
}: Partial<HealthOptions>): string | undefined {
  if (path === '' || type === 'grpc') return undefined
  if (type !== 'http') return `has no effect for type ${type}; remove it`
  return path.startsWith('/') ? undefined : `must begin with /, got ${JSON.stringify(path)}`
}

/** Reads an object of fields, or `off`. */
function readGroup<P extends object, Off>(
  name: string,
  value: unknown,
  table: PolicyTable<P>,
  off: Off,
): Partial<P> | Off {
  if (value === 'off' || value === false) return off
  if (!isObject(value))
    throw new RangeError(`${name} must be an object or off, got ${JSON.stringify(value)}`)
  return readFields(name, value, table)
}

/** @param others further known keys, for suggestions. */
function readFields<P extends object>(
  label: string,
  values: Values,
  table: PolicyTable<P>,
  others: readonly string[] = [],
): Partial<P> {
  const keys = new Map((Object.keys(table) as (keyof P)[]).map((key) => [table[key].name, key]))
  const read: Partial<P> = {}
  for (const [name, value] of flatten(values)) {
    const key = keys.get(name)
    if (key === undefined)
      throw new RangeError(describeUnknown(label, name, [...others, ...keys.keys()]))
    try {
      read[key] = table[key].parse(toTexts(value))
    } catch (error) {
      throw new RangeError(`${name} of ${label} ${(error as Error).message}`, { cause: error })
    }
  }
  return read
}

/** Flattens nested keys: key `b` of object `a` becomes `a.b`. */
function flatten(values: Values): [name: string, value: unknown][] {
  return Object.entries(values).flatMap(([name, value]) =>
    isObject(value)
      ? Object.entries(value).map(([inner, each]): [string, unknown] => [`${name}.${inner}`, each])
      : [[name, value] as [string, unknown]],
  )
}

/** @throws {RangeError} if the value is neither a scalar nor a list of scalars. */
function toTexts(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).map((each: unknown) => {
    if (typeof each === 'object') throw new RangeError('must be a single value or a list')
    return String(each)
  })
}

function describeUnknown(label: string, name: string, known: readonly string[]): string {
  const near = suggest(name, known)
  return `unknown key "${name}" of ${label}, ${near === undefined ? `expected ${known.join(', ')}` : `did you mean "${near}"?`}`
}
