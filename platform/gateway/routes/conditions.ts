import type { RequestLine } from '../../../core/route.ts'
import type { CidrSet } from '../../../lib/net/cidr-set.ts'

/** Condition on a header or a query parameter. */
export interface ValueCondition {
  /** Header name in lower case, or parameter name. */
  readonly name: string
  readonly kind: 'exact' | 'prefix' | 'present'
  /** Value; empty for `present`. */
  readonly value: string
}

/** Conditions of a route in addition to path, host and method. All conditions must be met. */
export interface RouteConditions {
  readonly headers: readonly ValueCondition[]
  readonly query: readonly ValueCondition[]
  /** Client addresses; any address if undefined. */
  readonly clients: CidrSet | undefined
  /** Names of listeners; any listener if empty. */
  readonly listeners: readonly string[]
}

/**
 * Returns whether all conditions are met. If a parameter has several values, the first one is used.
 */
export function holds(
  { headers, query, clients, listeners }: RouteConditions,
  request: RequestLine,
): boolean {
  if (listeners.length > 0 && !listeners.includes(request.listener ?? '')) return false
  if (headers.some((condition) => !matches(condition, request.headers?.get(condition.name))))
    return false
  if (query.length > 0) {
    const parameters = new URLSearchParams(request.query)
    if (query.some((condition) => !matches(condition, parameters.get(condition.name) ?? undefined)))
      return false
  }
  return clients === undefined || clients.lookup(request.clientAddress ?? '').inside
}

function matches({ kind, value }: ValueCondition, actual: string | undefined): boolean {
  if (actual === undefined) return false
  if (kind === 'exact') return actual === value
  return kind === 'present' || actual.startsWith(value)
}

/**
 * Orders routes by the number of headers, then of parameters (more first), then by conditions on
 * the client and on the listener.
 */
export function compareConditions(a: RouteConditions, b: RouteConditions): number {
  return (
    b.headers.length - a.headers.length ||
    b.query.length - a.query.length ||
    Number(b.clients !== undefined) - Number(a.clients !== undefined) ||
    Number(b.listeners.length > 0) - Number(a.listeners.length > 0)
  )
}

/**
 * Creates a function that returns, as one text, the request values that the conditions of any of
 * these routes depend on.
 */
export function createConditionKey(
  conditions: readonly RouteConditions[],
): ((request: RequestLine) => string) | undefined {
  const headers = [...new Set(conditions.flatMap(({ headers }) => headers.map(({ name }) => name)))]
  const query = [...new Set(conditions.flatMap(({ query }) => query.map(({ name }) => name)))]
  const clients = conditions.flatMap(({ clients }) => clients ?? [])
  const hasListeners = conditions.some(({ listeners }) => listeners.length > 0)
  if (headers.length + query.length + clients.length === 0 && !hasListeners) return undefined
  return (request) => {
    const values = headers.map((name) => toKey(request.headers?.get(name)))
    if (query.length > 0) {
      const parameters = new URLSearchParams(request.query)
      values.push(...query.map((name) => toKey(parameters.get(name) ?? undefined)))
    }
    const address = request.clientAddress ?? ''
    values.push(...clients.map((set) => (set.lookup(address).inside ? '1' : '0')))
    if (hasListeners) values.push(request.listener ?? '')
    return values.join('\n')
  }
}

/** Distinguishes a missing value from an empty one. A line break in a parameter is escaped. */
function toKey(value: string | undefined): string {
  return value === undefined ? '' : JSON.stringify(value)
}
