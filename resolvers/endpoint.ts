import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import { toCanonicalPath } from '../core/path/canonical.ts'
import { isReservedName } from '../core/registry/built-in-services.ts'
import {
  type RequestLine,
  type Resolver,
  type ResolverOptions,
  type Route,
  toRoute,
} from '../core/route.ts'
import { createCatalog } from './endpoint/catalog.ts'
import type { EndpointRoute } from './endpoint/declared.ts'
import { findOtherSpelling, rejectSpelling } from './endpoint/other-spelling.ts'
import { parseRequestPath, readVariables, rejectEncoding } from './endpoint/request-path.ts'
import { createEndpointTree } from './endpoint/route-bucket.ts'
import { createRouteKey } from './endpoint/route-key.ts'
import type { RouteTree } from './endpoint/route-tree.ts'

/** About two milliseconds, which is the delay of requests while the tree is rebuilt. */
const ROUTES_PER_TICK = 1000

/**
 * Resolves requests by the routes that endpoints declare in the registry (specification: the default handler; reference
 * 1.7), with the inner resolver as fallback. Only services inside the namespace of the request match.
 *
 * Metadata keys: {@link readDeclared}. Precedence: {@link RouteTree}.
 * Unlike in the original, an endpoint without methods accepts any method, and hosts are matched.
 */
export default function createEndpoint({
  inner,
  registry,
  onWarning,
  onServices,
}: ResolverOptions): Resolver {
  let matcher = createEndpointTree()
  let generation = 0
  let running: NodeJS.Immediate | undefined
  let changed = false
  const { ready, listRoutes, close } = createCatalog({
    registry,
    onWarning,
    onServices,
    // Many services change simultaneously when a platform starts, so the tree is rebuilt once per tick.
    onChange: () => {
      changed = true
      running ??= setImmediate(rebuild, ROUTES_PER_TICK)
    },
  })
  // Routes known at startup must be available to the first request.
  if (changed) rebuild(Number.POSITIVE_INFINITY)

  /** Builds a new matcher, `routesPerTick` routes at a time, then replaces the current one. */
  function rebuild(routesPerTick: number): void {
    clearImmediate(running)
    changed = false
    const next = createEndpointTree()
    const routes = listRoutes()
    const skipped: EndpointRoute[] = []
    let at = 0
    const build = (): void => {
      const end = Math.min(at + routesPerTick, routes.length)
      for (; at < end; at++) if (!next.add(routes[at]!)) skipped.push(routes[at]!)
      if (at < routes.length) {
        running = setImmediate(build)
        return
      }
      matcher = next
      generation++
      running = changed ? setImmediate(rebuild, ROUTES_PER_TICK) : undefined
      if (skipped.length > 0) onWarning(describe(skipped))
    }
    build()
  }

  const toKey = createRouteKey()

  return {
    name: 'endpoint',
    expected: `a path declared by an endpoint, or ${inner.expected}`,

    get generation() {
      return generation + (inner.generation ?? 0)
    },

    ready: ready?.then(() => {
      if (changed) rebuild(Number.POSITIVE_INFINITY)
    }),

    key(request: RequestLine) {
      const other = inner.key(request)
      if (matcher.size === 0) return other
      let key = toKey(request.path, other)
      // Concatenation costs more than the lookup, so the key omits the most common method.
      if (matcher.byMethod && request.method !== 'GET') key = `${request.method} ${key}`
      return matcher.byHost ? `${request.host} ${key}` : key
    },

    resolve(request) {
      if (matcher.size === 0) return inner.resolve(request)
      if (isBuiltInPath(inner, request)) return inner.resolve(request)
      return find(matcher, request) ?? inner.resolve(request)
    },

    close() {
      clearImmediate(running)
      close()
      inner.close?.()
    },
  }
}

function describe(skipped: readonly EndpointRoute[]): string {
  const [{ endpoint, service }] = skipped as [EndpointRoute]
  return `ignored ${skipped.length} declared paths: too many paths, or too many overlapping paths; first ignored: endpoint ${endpoint} of service ${service}`
}

/**
 * Whether a path refers to a built-in service, even if percent-encoded or with path parameters. Declared paths such as
 * `/**` do not override it; otherwise their services would receive passwords and tokens sent to the platform.
 */
function isBuiltInPath(inner: Resolver, request: RequestLine): boolean {
  const path = toCanonicalPath(request.path)
  try {
    const route = inner.resolve(path === request.path ? request : { ...request, path })
    return route !== undefined && isReservedName(route.service)
  } catch {
    return false
  }
}

/**
 * @throws {GatewayError} 405 if only the method differs; 400 if a matching path has an invalid encoding, or leads to
 *   another endpoint after a backend has merged its empty segments, removed path parameters or decoded it.
 */
function find(matcher: RouteTree<EndpointRoute>, request: RequestLine): Route | undefined {
  if (matcher.size === 0) return undefined
  const path = parseRequestPath(request.path)
  const found = path && matcher.find(request, path)
  const other = findOtherSpelling(matcher, request, found)
  if (other !== found && typeof other === 'object') throw rejectSpelling('endpoint')
  if (path === undefined || found === undefined) return undefined
  if (path.malformed) throw rejectEncoding()
  if (typeof found === 'string') {
    throw new GatewayError(
      GATEWAY_ID,
      405,
      `method ${request.method} is not allowed; this path accepts ${found}`,
      {
        headers: ['allow', found],
      },
    )
  }
  const { service, endpoint, handler, template } = found
  return toRoute(service, endpoint, handler, readVariables(template, path.segments), template)
}
