import type { Step } from './chain.ts'
import { GATEWAY_ID, GatewayError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import { METHODS } from './http/methods.ts'
import type { ServiceCache } from './registry/service-cache.ts'
import type { Resolver, Route } from './route.ts'
import { RouteCache } from './route-cache.ts'
import type { Upstream } from './upstream/upstream.ts'

export interface RouterOptions {
  readonly resolver: Resolver
  readonly directory: Pick<ServiceCache, 'find' | 'generation'>
  /** The namespace most requests are in; those in another pay for a longer key. @default '' */
  readonly namespace?: string
  /** Of this router alone: keys are the resolver's. */
  readonly cache?: RouteCache
  /** Answered at `/` where the resolver knows no service there (specification: Versioning); undefined: not answered. */
  readonly version?: string
}

/** What is served somewhere: the answer to `OPTIONS *` (RFC 9110 §9.3.7). Any other token is, too. */
const VERSION_FIELDS = ['content-type', 'application/json', 'cache-control', 'no-store']
/** Longest part of a path repeated in an error. */
const MAX_SHOWN = 200

/**
 * The step that sets `x.route` and, where the resolver names services, `x.upstream`.
 *
 * @throws {GatewayError} 404 when the request line names no service, or one nobody registered;
 *   503 when the registry cannot say.
 */
export function createRouter({
  resolver,
  directory,
  namespace = '',
  cache = new RouteCache(),
  version,
}: RouterOptions): Step {
  const versionBody = version === undefined ? undefined : `{"version": ${JSON.stringify(version)}}`

  /** Both only rise, so their sum was never the same before one of them changed. */
  const currentGeneration = (): number => directory.generation + (resolver.generation ?? 0)

  function arrive(
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
        x.reply(200, versionBody, VERSION_FIELDS)
        return undefined
      }
      if (x.path === '*') {
        x.reply(204, '', ['allow', METHODS])
        return undefined
      }
      throw new GatewayError(
        GATEWAY_ID,
        404,
        `no service named by ${describe(x)}; expected ${resolver.expected}`,
      )
    }
    const generation = currentGeneration()
    if (resolver.names === 'topics') {
      cache.set(key, { route, upstream: undefined, generation })
      x.route = route
      return undefined
    }
    const found = directory.find(route.service)
    if (!(found instanceof Promise)) {
      arrive(x, key, route, found, generation)
      return undefined
    }
    // Registered or gone while the registry was asked: kept under the old generation, the answer is asked for again next time.
    return found.then((upstream) => arrive(x, key, route, upstream, generation))
  }

  return (x) => {
    // Joining costs more than looking up, so the usual namespace goes without saying. A line end parts
    // the two: neither a namespace nor a request line can hold one.
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
  return `path ${JSON.stringify(path.slice(0, MAX_SHOWN))} at host ${JSON.stringify(host.slice(0, MAX_SHOWN))}`
}
