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
    ...findShadowed(configuration),
    ...findRedirected(configuration),
    ...findRejectedHosts(configuration),
    ...findUnknown(configuration),
    ...findAvoidable(configuration),
  ]
}

/**
 * Returns routes whose requests all match routes that precede them. Only a route with the same
 * path, host, method and number of conditions can have that effect, or a route that lists all
 * listeners; otherwise, the more specific route takes precedence.
 */
function findShadowed({ config: { routes, listen } }: Configuration): string[] {
  const previous = new Map<string, CoveringRoutes>()
  // They precede routes without listeners, even later in the file.
  const everywhere = new Map<string, CoveringRoutes>()
  const serving = listen.filter(({ httpsRedirect }) => !httpsRedirect)
  for (const route of routes) {
    const { listeners } = route.match
    if (listeners.length === 0 || !serving.every(({ name }) => listeners.includes(name))) continue
    for (const key of listKeys({ ...route.match, listeners: [] })) open(everywhere, key).add(route)
  }
  return routes.flatMap((route) => {
    const owners = listKeys(route.match).map((key) => {
      const known = open(previous, key)
      const owner = known.find(route.match) ?? everywhere.get(key)?.find(route.match)
      known.add(route)
      return owner
    })
    const [owner] = owners
    if (owner === undefined || owners.includes(undefined)) return []
    return [
      `${route.at}: route ${route.name} can never match: route ${owner.name} (${owner.at}) matches the same requests`,
    ]
  })
}

function open(routes: Map<string, CoveringRoutes>, key: string): CoveringRoutes {
  const known = routes.get(key) ?? new CoveringRoutes()
  routes.set(key, known)
  return known
}

/** Names of exact conditions. */
interface ExactNames {
  readonly headers: readonly string[]
  readonly query: readonly string[]
}

/** Maximum number of routes that a route is compared with: pairs of thousands of networks would delay a start by minutes. */
const MAX_COMPARED = 20

/** Routes with conditions of the same kinds, by the names and values of their exact conditions: there may be thousands for one path. */
class CoveringRoutes {
  readonly #names = new Map<string, ExactNames>()
  readonly #routes = new Map<string, ConfiguredRoute[]>()

  add(route: ConfiguredRoute): void {
    const { headers, query } = route.match
    const names = { headers: listExact(headers), query: listExact(query) }
    this.#names.set(JSON.stringify(names), names)
    const key = toValuesKey(names, route.match)
    const routes = this.#routes.get(key)
    if (routes === undefined) this.#routes.set(key, [route])
    else if (routes.length < MAX_COMPARED) routes.push(route)
  }

  /** Returns the first route whose conditions hold for every request of a match. */
  find(match: RouteMatch): ConfiguredRoute | undefined {
    const found = [...this.#names.values()].flatMap(
      (names) =>
        this.#routes.get(toValuesKey(names, match))?.find((outer) => covers(outer.match, match)) ??
        [],
    )
    return found[0]
  }
}

function listExact(values: readonly RouteValue[]): string[] {
  return values.flatMap(({ name, kind }) => (kind === 'exact' ? name : [])).sort()
}

/** Returns a key of the values of a match for these names, null without an exact condition. */
function toValuesKey(names: ExactNames, { headers, query }: RouteMatch): string {
  const list = (values: readonly RouteValue[], names: readonly string[]) =>
    names.map((name) => {
      const found = values.find((each) => each.name === name)
      return [name, found?.kind === 'exact' ? found.value : null]
    })
  return JSON.stringify([list(headers, names.headers), list(query, names.query)])
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

/** Returns routes of listeners that redirect all requests, except ACME challenges and requests of trusted proxies. */
function findRedirected({ settings, config }: Configuration): string[] {
  const hasProxies =
    settings.trustedProxies.length > 0 ||
    config.plugins?.some(({ specifier }) => specifier === 'forwarded')
  if (hasProxies) return []
  const redirects = config.listen.filter(({ httpsRedirect }) => httpsRedirect)
  return config.routes.flatMap(({ name, match, at }) => {
    const { listeners, paths } = match
    const isRedirected =
      listeners.length > 0 &&
      listeners.every((listener) => redirects.some((each) => each.name === listener))
    if (!isRedirected || paths.some(({ segments }) => segments[0] === '.well-known')) return []
    return [
      `${at}: route ${name} can never match: https_redirect of listener ${listeners.join(', ')} redirects its requests`,
    ]
  })
}

/** Returns routes for hosts that the setting `hosts` rejects. */
function findRejectedHosts({ settings, config }: Configuration): string[] {
  const allowed = listHosts(settings)
  if (allowed === undefined) return []
  const isAllowed = compileHosts(allowed)
  const isRejected = (host: string): boolean =>
    host.startsWith('*.')
      ? ![...allowed, '*.localhost'].some((name) => hasHostBelow(name.toLowerCase(), host.slice(1)))
      : host !== '*' && !isAllowed(host)
  return config.routes.flatMap(({ name, match, at }) => {
    if (!match.hosts.every(isRejected)) return []
    return [
      `${at}: route ${name} can never match: the setting hosts does not allow ${match.hosts.join(', ')}`,
    ]
  })
}

/** Returns whether a name or `*.<name>` of the setting `hosts` allows a host that ends with a suffix such as `.example.com`. */
function hasHostBelow(allowed: string, suffix: string): boolean {
  if (!allowed.startsWith('*.')) return allowed.endsWith(suffix)
  const other = allowed.slice(1)
  return other.endsWith(suffix) || suffix.endsWith(other)
}

/** All services are known only if there is no registry. */
function findUnknown(configuration: Configuration): string[] {
  const { settings, config } = configuration
  if (settings.registry !== 'static') return []
  const known = new Set(listNames(configuration))
  /** Undefined for a known service. */
  const toHint = (service: string): string | undefined => {
    if (known.has(toFullName(service, settings.namespace))) return undefined
    const short = [...known].map((full) => full.slice(full.lastIndexOf('.') + 1))
    const suggestion = suggest(service, short)
    return suggestion === undefined ? 'add it under "services"' : `did you mean ${suggestion}?`
  }
  const routes = config.routes.flatMap(({ action, name, at }) => {
    if (action.kind !== 'service' || action.handler === 'event') return []
    const hint = toHint(action.service)
    if (hint === undefined) return []
    return [`${at}: route ${name} refers to the unknown service ${action.service}: ${hint}`]
  })
  const pages = [config, ...config.services, ...config.routes].flatMap(({ errors = [] }) => errors)
  return [
    ...routes,
    ...pages.flatMap(({ status, service, at }) => {
      const hint = service === undefined ? undefined : toHint(service)
      if (hint === undefined) return []
      return [`${at}: errors.${status} refers to the unknown service ${service}: ${hint}`]
    }),
  ]
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
