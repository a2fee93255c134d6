import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import { type RequestLine, type Resolver, type RouteRule, toRoute } from '../../../core/route.ts'
import {
  parseRequestPath,
  readVariables,
  rejectEncoding,
} from '../../../resolvers/endpoint/request-path.ts'
import { RouteTree } from '../../../resolvers/endpoint/route-tree.ts'
import { createConditionKey } from './conditions.ts'
import { ConditionalBucket, type ConditionalRoute } from './route-bucket.ts'

/** A route of the configuration, compiled. */
export interface CompiledRoute extends ConditionalRoute {
  readonly rule: RouteRule
  /** Full name of the service; the gateway's own id for a route that responds by itself. */
  readonly service: string
  /** `Handler.Method` of a call; empty: requests are proxied. */
  readonly endpoint: string
  /** Undefined: that of the gateway. */
  readonly handler: string | undefined
}

export interface ConfiguredRoutes {
  /** Resolves by the routes, then by the inner resolver. */
  readonly wrap: (inner: Resolver) => Resolver
  readonly replace: (routes: readonly CompiledRoute[]) => void
}

interface State {
  readonly tree: RouteTree<CompiledRoute>
  readonly conditionKey: ((request: RequestLine) => string) | undefined
}

/** Routes of the configuration, which precede those that services declare and the resolver. */
export function createConfiguredRoutes(routes: readonly CompiledRoute[]): ConfiguredRoutes {
  let state = compile(routes)
  let generation = 0

  const wrap = (inner: Resolver): Resolver => ({
    ...inner,
    expected: inner.expected,

    get generation() {
      return generation + (inner.generation ?? 0)
    },

    key(request) {
      const other = inner.key(request)
      const { tree, conditionKey } = state
      if (tree.size === 0) return other
      const { path, method, host } = request
      let key = path === other ? path : `${path} ${other}`
      if (tree.byMethod && method !== 'GET') key = `${method} ${key}`
      if (tree.byHost) key = `${host} ${key}`
      return conditionKey === undefined ? key : `${key}\n${conditionKey(request)}`
    },

    resolve(request) {
      const { tree } = state
      if (tree.size === 0) return inner.resolve(request)
      const path = parseRequestPath(request.path)
      const found = path && tree.find(request, path)
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
      state = compile(next)
      generation++
    },
  }
}

function compile(routes: readonly CompiledRoute[]): State {
  const tree = new RouteTree<CompiledRoute>(() => new ConditionalBucket())
  for (const route of routes) tree.add(route)
  return { tree, conditionKey: createConditionKey(routes.map(({ conditions }) => conditions)) }
}

function rejectMethod({ method }: RequestLine, allowed: string): never {
  const detail = `method ${method} is not allowed; this path accepts ${allowed}`
  throw new GatewayError(GATEWAY_ID, 405, detail, { headers: ['allow', allowed] })
}
