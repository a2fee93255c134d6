import { compileHosts } from '../../core/http/host/served-hosts.ts'
import type { PathTemplate } from '../../core/path/template.ts'
import { joinName } from '../../core/route.ts'
import { containsRange } from '../../lib/net/cidr-set.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { listHosts } from '../plugins/defaults.ts'
import { listNames, toFullName } from './configured-services.ts'
import type {
  Configuration,
  ConfiguredRoute,
  PluginEntry,
  RouteMatch,
  RouteValue,
} from './types.ts'

/** Returns the full names of the services that routes refer to. */
export function listRoutedServices({ settings, config }: Configuration): readonly string[] {
  return config.routes.flatMap(({ action }) =>
    action.kind === 'service' ? [toFullName(action.service, settings.namespace)] : [],
  )
}

/** Plugins that protect a service. */
const ACCESS: ReadonlySet<string> = new Set([
  ...['api-keys', 'basic-auth', 'forward-auth', 'ip-allow', 'oidc'],
])

/**
 * Returns warnings about routes that can never match or that requests can bypass, and about unknown
 * services.
 */
export function lintRoutes(configuration: Configuration): readonly string[] {
  return [
    ...findShadowed(configuration.config.routes),
    ...findRejectedHosts(configuration),
    ...findUnknown(configuration),
    ...findAvoidable(configuration),
  ]
}

/**
 * Returns routes whose requests all match earlier routes in the file. Only a route with the same
 * path, host, method and number of conditions can have that effect; otherwise, the more specific
 * route takes precedence.
 */
function findShadowed(routes: readonly ConfiguredRoute[]): string[] {
  const previous = new Map<string, ConfiguredRoute[]>()
  return routes.flatMap((route) => {
    const owners = listKeys(route.match).map((key) => {
      const known = previous.get(key) ?? []
      previous.set(key, [...known, route])
      return known.find(({ match }) => covers(match, route.match))
    })
    const [owner] = owners
    if (owner === undefined || owners.includes(undefined)) return []
    return [
      `${route.at}: route ${route.name} can never match: route ${owner.name} (${owner.at}) matches the same requests`,
    ]
  })
}

/** Returns a key for each combination of path, host and method. */
function listKeys({ paths, hosts, methods, ...rest }: RouteMatch): string[] {
  const { headers, query, clients, listeners } = rest
  const names = [headers, query].map((list) => list.map(({ name }) => name).sort())
  const kinds = [...names, clients.length > 0, listeners.length > 0]
  return paths.flatMap((path) =>
    hosts.flatMap((host) =>
      (methods.length === 0 ? [''] : methods).map((method) =>
        JSON.stringify([toShape(path), host, method, ...kinds]),
      ),
    ),
  )
}

function toShape({ segments, verb }: PathTemplate): string {
  return `${segments.join('/')}:${verb}`
}

/**
 * Returns whether the conditions of a match are met by every request that matches `inner`, which
 * has conditions of the same kinds.
 */
function covers(outer: RouteMatch, inner: RouteMatch): boolean {
  return (
    coversValues(outer.headers, inner.headers) &&
    coversValues(outer.query, inner.query) &&
    inner.clients.every((network) => containsRange(outer.clients, network)) &&
    inner.listeners.every((name) => outer.listeners.includes(name))
  )
}

function coversValues(outer: readonly RouteValue[], inner: readonly RouteValue[]): boolean {
  return outer.every(({ name, kind, value }) => {
    const other = inner.find((each) => each.name === name)!
    if (kind === 'present') return true
    if (kind === 'exact') return other.kind === 'exact' && other.value === value
    return other.kind !== 'present' && other.value.startsWith(value)
  })
}

/** Returns routes for hosts that the setting `hosts` rejects. */
function findRejectedHosts({ settings, config }: Configuration): string[] {
  const allowed = listHosts(settings)
  if (allowed === undefined) return []
  const isAllowed = compileHosts(allowed)
  return config.routes.flatMap(({ name, match, at }) => {
    const isRejected = (host: string): boolean => !host.includes('*') && !isAllowed(host)
    if (!match.hosts.every(isRejected)) return []
    return [
      `${at}: route ${name} can never match: the setting hosts does not allow ${match.hosts.join(', ')}`,
    ]
  })
}

/** All services are known only if there is no registry. */
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
    return [`${at}: route ${name} refers to the unknown service ${action.service}: ${hint}`]
  })
}

/**
 * Returns routes with access plugins whose service also accepts the same requests by its name,
 * without these plugins.
 */
function findAvoidable({ settings, config }: Configuration): string[] {
  const { handler, resolver, namespace } = settings
  // With other resolvers, hosts and topics name the services.
  if (handler === 'event' || /^(?:host|subdomain|event)\b/.test(resolver)) return []
  const prefix = joinName(namespace, '')
  const listAccess = (plugins: readonly PluginEntry[] = []): string[] =>
    plugins.map(({ specifier }) => specifier).filter((name) => ACCESS.has(name))
  const everywhere = listAccess(config.plugins)
  return config.routes.flatMap(({ action, name, at, match, plugins }) => {
    const access = listAccess(plugins)
    if (action.kind !== 'service' || action.handler === 'event' || access.length === 0) return []
    const service = toFullName(action.service, namespace)
    if (!service.startsWith(prefix)) return []
    const names = service.slice(prefix.length).split('.')
    const ofService = config.services.find((each) => toFullName(each.name, namespace) === service)
    const elsewhere = [...everywhere, ...listAccess(ofService?.plugins)]
    const missing = access.filter((plugin) => !elsewhere.includes(plugin))
    const isCovered = config.routes.some(
      (other) => listAccess(other.plugins).length > 0 && coversName(other.match, names),
    )
    if (missing.length === 0 || isCovered || isBelowName(match, names)) return []
    return [
      `${at}: requests can bypass ${missing.join(', ')} of route ${name} through the service name (/${names.join('/')}/...); add the plugin to the service ${action.service}`,
    ]
  })
}

/** Returns whether a match covers all requests that name a service in the path. */
function coversName(match: RouteMatch, names: readonly string[]): boolean {
  return (
    hasPathOnly(match) &&
    match.paths.some(
      ({ segments, verb }) =>
        verb === '' &&
        segments.at(-1) === '**' &&
        segments.slice(0, -1).every((segment, i) => segment === '*' || segment === names[i]),
    )
  )
}

/**
 * Returns whether all paths of a match start with the service name, so that the name is no bypass.
 */
function isBelowName(match: RouteMatch, names: readonly string[]): boolean {
  return (
    hasPathOnly(match) &&
    match.paths.every(({ segments }) => names.every((name, i) => segments[i] === name))
  )
}

function hasPathOnly({ hosts, methods, headers, query, clients, listeners }: RouteMatch): boolean {
  const others = [methods, headers, query, clients, listeners]
  return hosts.includes('*') && others.every(({ length }) => length === 0)
}
