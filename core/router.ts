import type { Step } from './chain.ts'
import { GATEWAY_ID, GatewayError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import { ALLOWED_METHODS } from './http/methods.ts'
import type { ServiceCache } from './registry/service-cache.ts'
import type { Resolver, Route } from './route.ts'
import { RouteCache } from './route-cache.ts'
import type { Upstream } from './upstream/upstream.ts'

export interface RouterOptions {
  readonly resolver: Resolver
  readonly directory: Pick<ServiceCache, 'find' | 'generation'>
  /** Finds the services of configured routes; `directory` includes its generation. @default `directory` */
  readonly configured?: Pick<ServiceCache, 'find'>
  /** Namespace of most requests; others use longer keys. @default '' */
  readonly namespace?: string
  /** Must not be shared with another resolver, which would define other keys. */
  readonly cache?: RouteCache
  /**
   * Version returned at `/` unless the resolver finds a service there (specification: Versioning); undefined for none.
   */
  readonly version?: string
}

const VERSION_HEADERS = ['content-type', 'application/json', 'cache-control', 'no-store']
/** Maximum characters of a path or host quoted in an error. */
const MAX_QUOTED = 200

/**
 * Creates the step that sets `x.route` and, for routes to services, `x.upstream`.
 *
 * @throws {GatewayError} 404 if the request line names no service or an unregistered one, 503 if the registry is
 *   unavailable.
 */
export function createRouter({
  resolver,
  directory,
  configured = directory,
  namespace = '',
  cache = new RouteCache(),
  version,
}: RouterOptions): Step {
  const versionBody = version === undefined ? undefined : `{"version": ${JSON.stringify(version)}}`

  /** Both generations only increase, so the sum changes with either. */
  const currentGeneration = (): number => directory.generation + (resolver.generation ?? 0)

  function setRoute(
    x: Exchange,
    key: string,
    route: Route,
    upstream: Upstream | undefined,
    generation: number,
  ): void {
    if (upstream === undefined) {
      const error = new GatewayError(route.service, 404, `service not found: ${route.service}`)
      cache.setFailure(key, error, generation)
      throw error
    }
    cache.set(key, { route, upstream, generation })
    x.route = route
    x.upstream = upstream
  }

  function resolve(x: Exchange, key: string): Promise<void> | undefined {
    const route = resolver.resolve(x)
    if (route === undefined) {
      if (
        versionBody !== undefined &&
        x.path === '/' &&
        (x.method === 'GET' || x.method === 'HEAD')
      ) {
        x.reply(200, versionBody, VERSION_HEADERS)
        return undefined
      }
      // The methods supported by the server in general (RFC 9110 §9.3.7).
      if (x.path === '*') {
        x.reply(204, '', ['allow', ALLOWED_METHODS])
        return undefined
      }
      throw new GatewayError(
        GATEWAY_ID,
        404,
        `no service found for ${describe(x)}; expected ${resolver.expected}`,
      )
    }
    const generation = currentGeneration()
    const { rule } = route
    const isTopic = resolver.names === 'topics' || (rule !== undefined && route.handler === 'event')
    // Topics and routes with a fixed response require no lookup.
    if (isTopic || rule?.handler !== undefined) {
      cache.set(key, { route, upstream: undefined, generation })
      x.route = route
      return undefined
    }
    const found = (rule === undefined ? directory : configured).find(route.service)
    if (!(found instanceof Promise)) {
      setRoute(x, key, route, found, generation)
      return undefined
    }
    // If the service changes during the query, the result is cached under the old generation and queried again next
    // time.
    return found.then((upstream) => setRoute(x, key, route, upstream, generation))
  }

  return (x) => {
    // Concatenation costs more than the lookup, so keys omit the usual namespace. Neither a namespace nor a request
    // line can contain the separator, a line break.
    const key = x.namespace === namespace ? resolver.key(x) : `${x.namespace}\n${resolver.key(x)}`
    const generation = currentGeneration()
    const cached = cache.get(key, generation)
    if (cached !== undefined) {
      x.route = cached.route
      x.upstream = cached.upstream
      return undefined
    }
    const failure = cache.getFailure(key, generation)
    if (failure !== undefined) throw failure
    return resolve(x, key)
  }
}

function describe({ path, host }: Exchange): string {
  return `path ${JSON.stringify(path.slice(0, MAX_QUOTED))} at host ${JSON.stringify(host.slice(0, MAX_QUOTED))}`
}
