import type { Service } from '../../../core/contracts/registry.ts'
import { formatTemplate } from '../../../core/path/format-template.ts'
import { joinName } from '../../../core/route.ts'
import { HANDLERS, readDeclared } from '../../../resolvers/endpoint/declared.ts'
import rpc from '../../../resolvers/rpc.ts'
import type { RouteMessage } from '../../../services/gateway/messages.ts'
import type { Settings } from '../../settings/settings.ts'
import { nameResolver } from '../find-resolver.ts'

export interface ListedRoutes {
  /** Routes sorted by service name. */
  readonly routes: readonly RouteMessage[]
  /** Declared routes that are not served, each with the reason. */
  readonly problems: readonly string[]
}

export type ListedBy = Pick<Settings, 'handler' | 'resolver' | 'namespace'>

/** Resolvers that read the service name from the first path segment. */
const BY_FIRST_SEGMENT: ReadonlySet<string> = new Set(['proxy', 'path', 'vpath'])

/**
 * Lists the routes to services: routes declared by endpoints, if the resolver uses them, and routes
 * by name. Resolvers by host or topic have no routes to list.
 */
export function listRoutes(services: readonly Service[], settings: ListedBy): ListedRoutes {
  const resolver = settings.resolver || nameResolver(settings.handler)
  const routes = new Map<string, RouteMessage>()
  const problems = new Set<string>()
  const add = (route: RouteMessage): void => {
    const { service, endpoint, methods, hosts, path } = route
    routes.set([service, path, endpoint, methods, hosts].join(' '), route)
  }
  for (const service of services) {
    if (resolver === 'endpoint') {
      const declared = readDeclared(service)
      for (const problem of declared.problems) problems.add(problem)
      for (const { template, hosts, handler = 'rpc', ...route } of declared.routes)
        add({
          ...route,
          ...{ handler, path: formatTemplate(template), declared: true },
          hosts: hosts.filter((host) => host !== '*'),
        })
    }
    for (const route of listByName(service, resolver, settings)) add(route)
  }
  const sorted = [...routes].sort(([a], [b]) => (a < b ? -1 : 1))
  return { routes: sorted.map(([, route]) => route), problems: [...problems] }
}

function listByName(
  { name: service, metadata, endpoints }: Service,
  resolver: string,
  { handler, namespace }: ListedBy,
): RouteMessage[] {
  const prefix = joinName(namespace, '')
  if (!service.startsWith(prefix)) return []
  const isDefault = handler === 'meta'
  const name = service.slice(prefix.length).replaceAll('.', '/')
  const route = { service, methods: [], hosts: [], declared: false }
  if (BY_FIRST_SEGMENT.has(resolver))
    return [{ ...route, endpoint: '', handler, path: `/${name}[/...]` }]
  if (resolver !== 'endpoint' && resolver !== 'rpc') return []
  if (endpoints.length === 0) {
    const declared = (isDefault && HANDLERS.get(metadata['handler'] ?? '')) || 'rpc'
    return [
      { ...route, endpoint: '', handler: isDefault ? declared : handler, path: `/${name}[/*][/*]` },
    ]
  }
  return endpoints.flatMap(({ name: endpoint }) => {
    const path = findPath(name, endpoint, { service, namespace })
    return path === undefined
      ? []
      : [{ ...route, endpoint, handler: isDefault ? 'rpc' : handler, path }]
  })
}

/**
 * Returns the shortest path that resolves to an endpoint, or undefined if there is no such path.
 */
function findPath(
  name: string,
  endpoint: string,
  { service, namespace }: { readonly service: string; readonly namespace: string },
): string | undefined {
  const [handler = '', method = '', ...more] = endpoint.split('.').map(lowerFirst)
  if (more.length > 0) return undefined
  return [`/${name}/${method}`, `/${name}/${handler}/${method}`].find((path) => {
    const route = rpc.resolve({ method: 'POST', path, host: '', namespace })
    return route?.service === service && route.endpoint === endpoint
  })
}

function lowerFirst(word: string): string {
  return word.slice(0, 1).toLowerCase() + word.slice(1)
}
