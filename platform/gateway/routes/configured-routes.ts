import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import { type RequestLine, type Resolver, type RouteRule, toRoute } from '../../../core/route.ts'
import { findOtherSpelling, rejectSpelling } from '../../../resolvers/endpoint/other-spelling.ts'
import {
  parseRequestPath,
  readVariables,
  rejectEncoding,
} from '../../../resolvers/endpoint/request-path.ts'
import { createRouteKey } from '../../../resolvers/endpoint/route-key.ts'
import { RouteTree } from '../../../resolvers/endpoint/route-tree.ts'
import { compareConditions, isConditional } from './conditions.ts'
import { createMatchKey, type MatchKey } from './match-key.ts'
import { ConditionalBucket } from './route-bucket.ts'
import type { ConditionalRoute } from './route-list.ts'

/** A compiled route of the configuration. */
export interface CompiledRoute extends Omit<ConditionalRoute, 'position'> {
  readonly rule: RouteRule
  /** Full name of the service. For a route with a fixed response, the gateway's own id. */
  readonly service: string
  /** `Handler.Method` of a call. If empty, requests are proxied. */
  readonly endpoint: string
  /** Handler of the route; the gateway's handler if undefined. */
  readonly handler: string | undefined
}

/** A route and its place in the order of conditions, then of the file. */
type PositionedRoute = CompiledRoute & ConditionalRoute

export interface ConfiguredRoutes {
  /** Returns a resolver that first uses the routes, then the inner resolver. */
  readonly wrap: (inner: Resolver) => Resolver
  readonly replace: (table: ConfiguredRouteTable) => void
}

/** Routes prepared for lookups. */
export interface ConfiguredRouteTable {
  readonly tree: RouteTree<PositionedRoute>
  /** Undefined if no route has conditions. */
  readonly matchKey: MatchKey | undefined
}

/**
 * Routes of the configuration, which take precedence over routes declared by services and over the
 * resolver.
 */
export function createConfiguredRoutes(initial: ConfiguredRouteTable): ConfiguredRoutes {
  const toKey = createRouteKey()
  let table = initial
  let generation = 0

  const wrap = (inner: Resolver): Resolver => ({
    ...inner,
    expected: inner.expected,

    get generation() {
      return generation + (inner.generation ?? 0)
    },

    key(request) {
      const other = inner.key(request)
      const { tree, matchKey } = table
      if (tree.size === 0) return other
      const { path, method, host } = request
      let key = toKey(path, other)
      if (tree.byMethod && method !== 'GET') key = `${method} ${key}`
      if (tree.byHost) key = `${host} ${key}`
      return matchKey === undefined ? key : matchKey(request, key)
    },

    resolve(request) {
      const { tree } = table
      if (tree.size === 0) return inner.resolve(request)
      const path = parseRequestPath(request.path)
      const found = path && tree.find(request, path)
      if (findOtherSpelling(tree, request, found) !== found) throw rejectSpelling('route')
      if (path === undefined || found === undefined) return inner.resolve(request)
      if (typeof found === 'string') return inner.resolve(request) ?? rejectMethod(request, found)
      if (path.malformed) throw rejectEncoding()
      const { service, endpoint, handler, template, rule } = found
      const variables = readVariables(template, path.segments)
      return toRoute(service, endpoint, handler, variables, template, rule)
    },
  })

  return {
    wrap,
    replace(next) {
      table = next
      generation++
    },
  }
}

/** @throws {RangeError} if there are too many routes or too many overlapping ones. */
export function buildRouteTable(routes: readonly CompiledRoute[]): ConfiguredRouteTable {
  const tree = new RouteTree<PositionedRoute>(() => new ConditionalBucket())
  const ordered = routes.toSorted((a, b) => compareConditions(a.conditions, b.conditions))
  for (const [position, route] of ordered.entries())
    if (!tree.add({ ...route, position }))
      throw new RangeError(
        `route ${route.rule.name}: too many routes, or too many overlapping ones`,
      )
  const hasConditions = routes.some(({ conditions }) => isConditional(conditions))
  return { tree, matchKey: hasConditions ? createMatchKey(tree) : undefined }
}

function rejectMethod({ method }: RequestLine, allowed: string): never {
  const detail = `method ${method} is not allowed; this path accepts ${allowed}`
  throw new GatewayError(GATEWAY_ID, 405, detail, { headers: ['allow', allowed] })
}
