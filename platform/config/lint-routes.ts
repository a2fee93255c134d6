import type { PathTemplate } from '../../core/path/template.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { listNames, toFullName } from './configured-services.ts'
import type { Configuration, ConfiguredRoute } from './types.ts'

/** Full names of the services that routes lead to. */
export function listRoutedServices({ settings, config }: Configuration): readonly string[] {
  return config.routes.flatMap(({ action }) =>
    action.kind === 'service' ? [toFullName(action.service, settings.namespace)] : [],
  )
}

/** Returns warnings about routes that can never match, and about unknown services. */
export function lintRoutes(configuration: Configuration): readonly string[] {
  return [...findShadowed(configuration.config.routes), ...findUnknown(configuration)]
}

/** The first of several routes with the same match gets every request. */
function findShadowed(routes: readonly ConfiguredRoute[]): string[] {
  const first = new Map<string, ConfiguredRoute>()
  return routes.flatMap((route) => {
    const keys = listKeys(route)
    const owners = keys.map((key) => first.get(key))
    for (const key of keys) if (!first.has(key)) first.set(key, route)
    const [owner] = owners
    if (owner === undefined || owners.includes(undefined)) return []
    return [
      `${route.at}: route ${route.name} can never match: route ${owner.name} (${owner.at}) matches the same requests`,
    ]
  })
}

/** One for each combination of path, host and method. */
function listKeys({ match }: ConfiguredRoute): string[] {
  const { paths, hosts, methods, headers, query, clients, listeners } = match
  const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1)
  const conditions = [
    headers.toSorted(byName),
    query.toSorted(byName),
    clients.toSorted(),
    listeners.toSorted(),
  ]
  return paths.flatMap((path) =>
    hosts.flatMap((host) =>
      (methods.length === 0 ? [''] : methods).map((method) =>
        JSON.stringify([toShape(path), host, method, ...conditions]),
      ),
    ),
  )
}

function toShape({ segments, verb }: PathTemplate): string {
  return `${segments.join('/')}:${verb}`
}

/** Only without a registry are all services known. */
function findUnknown(configuration: Configuration): string[] {
  const { settings, config } = configuration
  if (settings.registry !== 'static') return []
  const known = listNames(configuration)
  return config.routes.flatMap(({ action, name, at }) => {
    if (action.kind !== 'service' || action.handler === 'event') return []
    const service = toFullName(action.service, settings.namespace)
    if (known.includes(service)) return []
    const short = known.map((full) => full.slice(full.lastIndexOf('.') + 1))
    const suggestion = suggest(action.service, short)
    const hint =
      suggestion === undefined ? 'add it under "services"' : `did you mean ${suggestion}?`
    return [`${at}: route ${name} leads to the unknown service ${action.service}: ${hint}`]
  })
}
