import type { RequestLine } from '../../../core/route.ts'
import type { CidrSet } from '../../../lib/net/cidr-set.ts'
import { findParameter } from './rewrite/find-parameter.ts'

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

/** Whether the route depends on more than path, host and method. */
export function isConditional({ headers, query, clients, listeners }: RouteConditions): boolean {
  return headers.length + query.length + listeners.length > 0 || clients !== undefined
}

/**
 * Returns whether all conditions are met. If a parameter has several values, the first one is used.
 */
export function holds(
  { headers, query, clients, listeners }: RouteConditions,
  request: RequestLine,
): boolean {
  if (listeners.length > 0 && !listeners.includes(request.listener ?? '')) return false
  // Not `some`: its closures would be allocated for every request.
  for (const condition of headers)
    if (!matches(condition, request.headers?.get(condition.name))) return false
  for (const condition of query)
    if (!matches(condition, findParameter(request.query, condition.name))) return false
  if (clients === undefined) return true
  return request.relayed !== true && clients.lookup(request.clientAddress ?? '').inside
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
