import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
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
import { EndpointMatcher } from './endpoint/matcher.ts'
import { parseRequestPath } from './endpoint/request-path.ts'

/** Some two milliseconds: what requests may wait for while routes change. */
const ROUTES_PER_TURN = 1000

/**
 * Routes that endpoints declare in the registry (specification: the default handler; reference 1.7), and
 * where none matches those of another resolver. Only services inside the namespace of a request
 * are asked.
 *
 * Which keys declare what: {@link readDeclared}; which of several routes is taken: {@link EndpointMatcher}.
 * Better than the original, an endpoint that lists no method takes any, and hosts are looked at.
 */
export default function createEndpoint({
  inner,
  registry,
  onWarning,
  onServices,
}: ResolverOptions): Resolver {
  let matcher = new EndpointMatcher()
  let generation = 0
  let running: NodeJS.Immediate | undefined
  let changed = false
  const { ready, listRoutes, close } = createCatalog({
    registry,
    onWarning,
    onServices,
    // Many services change at once when a platform starts: they are waited for until the turn ends.
    onChange: () => {
      changed = true
      running ??= setImmediate(rebuild, ROUTES_PER_TURN)
    },
  })
  // What is known before the first request is served from the first request on.
  if (changed) rebuild(Number.POSITIVE_INFINITY)

  /** Makes another matcher, so many routes a turn, and puts it in the place of the old one. */
  function rebuild(routesPerTurn: number): void {
    clearImmediate(running)
    changed = false
    const next = new EndpointMatcher()
    const routes = listRoutes()
    const leftOut: EndpointRoute[] = []
    let at = 0
    const build = (): void => {
      const end = Math.min(at + routesPerTurn, routes.length)
      for (; at < end; at++) if (!next.add(routes[at]!)) leftOut.push(routes[at]!)
      if (at < routes.length) {
        running = setImmediate(build)
        return
      }
      matcher = next
      generation++
      running = changed ? setImmediate(rebuild, ROUTES_PER_TURN) : undefined
      if (leftOut.length > 0) onWarning(describe(leftOut))
    }
    build()
  }

  return {
    name: 'endpoint',
    expected: `a path some endpoint declares, or ${inner.expected}`,

    get generation() {
      return generation + (inner.generation ?? 0)
    },

    ready: ready?.then(() => {
      if (changed) rebuild(Number.POSITIVE_INFINITY)
    }),

    key(request: RequestLine) {
      const other = inner.key(request)
      if (matcher.size === 0) return other
      const { path } = request
      let key = path === other ? path : `${path} ${other}`
      // Joining costs more than looking up, so the commonest method goes without saying.
      if (matcher.byMethod && request.method !== 'GET') key = `${request.method} ${key}`
      return matcher.byHost ? `${request.host} ${key}` : key
    },

    resolve(request) {
      if (matcher.size === 0) return inner.resolve(request)
      return findOfPlatform(inner, request) ?? find(matcher, request) ?? inner.resolve(request)
    },

    close() {
      clearImmediate(running)
      close()
      inner.close?.()
    },
  }
}

function describe(leftOut: readonly EndpointRoute[]): string {
  const [{ endpoint, service }] = leftOut as [EndpointRoute]
  return `${leftOut.length} declared paths are left out, because too many overlap or there are too many: of endpoint ${endpoint} of service ${service}, for one`
}

/**
 * The route to a service of the platform by its name. No declared path, as `/**`, takes its place: whoever declares it would
 * receive the passwords and tokens that are meant for the platform.
 */
function findOfPlatform(inner: Resolver, request: RequestLine): Route | undefined {
  try {
    const route = inner.resolve(request)
    return route !== undefined && isReservedName(route.service) ? route : undefined
  } catch {
    return undefined
  }
}

/** @throws {GatewayError} 405 when only the method is wrong; 400 when a matching path is wrongly encoded. */
function find(matcher: EndpointMatcher, request: RequestLine): Route | undefined {
  if (matcher.size === 0) return undefined
  const path = parseRequestPath(request.path)
  if (path === undefined) return undefined
  const { method, host, namespace } = request
  const found = matcher.find(method, host, path, namespace)
  if (found === undefined) return undefined
  if (path.malformed) {
    throw new GatewayError(
      GATEWAY_ID,
      400,
      'the path must be percent-encoded UTF-8, without encoded control characters, slashes or escapes',
    )
  }
  if (typeof found === 'string') {
    throw new GatewayError(GATEWAY_ID, 405, `this path takes ${found}, not ${method}`, {
      headers: ['allow', found],
    })
  }
  const { service, endpoint, handler, template } = found
  return toRoute(service, endpoint, handler, readVariables(found, path.segments), template)
}

function readVariables(
  { template }: EndpointRoute,
  segments: readonly string[],
): Route['variables'] {
  if (template.variables.length === 0) return undefined
  const more = segments.length - template.segments.length
  const multi = more === 0 ? -1 : template.segments.indexOf('**')
  /** Places behind `**` move by what it covers more, or less, than one segment. */
  const place = (at: number): number => (multi >= 0 && at > multi ? at + more : at)
  return template.variables.map(({ name, start, end }) => [
    name,
    segments.slice(place(start), place(end)).join('/'),
  ])
}
