import type { Service } from '../../core/contracts/registry.ts'
import { joinName } from '../../core/route.ts'
import { readOtlpVariables } from '../../core/tracing/otlp-variables.ts'
import { nameResolver } from '../gateway/find-resolver.ts'
import type { ServerCommand } from '../settings/setting.ts'
import type { Settings } from '../settings/settings.ts'
import { listServices } from './configured-services.ts'
import { lintRoutes, listRoutedServices } from './lint-routes.ts'
import { lintServices } from './services/lint.ts'
import type { Configuration } from './types.ts'

const VARIABLE = /^MX_/
const BY_HOST_OR_TOPIC: ReadonlySet<string> = new Set(['host', 'subdomain', 'event'])
const VERSION = /^v\d+$/

/** Returns one-line warnings about valid but probably unintended settings. */
export function lintConfiguration(
  configuration: Configuration,
  command: ServerCommand = 'api',
): readonly string[] {
  const { settings } = configuration
  const { handler, registry, broker } = settings
  const services = listServices(configuration)
  const warnings = [
    ...findOverridden(configuration),
    ...lintRoutes(configuration),
    ...lintServices(configuration),
  ]
  const routed = listRoutedServices(configuration)
  const isLocalRegistry = registry === 'static' || registry === 'memory'
  const isIdle = services.length === 0 && configuration.config.routes.length === 0
  if (command === 'api' && isIdle && isLocalRegistry && handler !== 'event') {
    warnings.push(
      'no service is configured: add one with --backend or under "services" in mx.yaml, or set a registry with --registry',
    )
  }
  // The default handler is required alongside a platform.
  const isChosen = configuration.inputs.has('handler') || registry !== 'static'
  const plain = isChosen ? [] : services.filter(isPlain)
  if (plain.length > 0) {
    warnings.push(
      `requests to ${formatNames(plain)} become calls with POST and JSON, because no handler is set; for plain HTTP backends set --handler=proxy (mx.yaml: "handler: proxy"), for mx services set --handler=meta`,
    )
  }
  const hasEvents = configuration.config.routes.some(
    ({ action }) => action.kind === 'service' && action.handler === 'event',
  )
  if ((handler === 'event' || (command === 'api' && hasEvents)) && broker === 'memory') {
    warnings.push(
      'events have no subscribers: the in-memory broker of this process responds with 200 and drops them; set --broker=nats://host:port',
    )
  }
  if (command === 'server' && lacksNetworkToken(settings)) {
    warnings.push(
      'network_nodes has no effect without network_token; set the same MX_NETWORK_TOKEN on all servers',
    )
  }
  const isTraced = readOtlpVariables().isEnabled
  const isListed = configuration.config.plugins?.some(({ specifier }) => specifier === 'tracing')
  if (isTraced && isListed === false) {
    warnings.push(
      'requests are not traced although OTEL_EXPORTER_OTLP_ENDPOINT is set: add tracing to the listed plugins',
    )
  }
  const plugins = configuration.config.plugins
  const isOmitted = plugins?.every(({ specifier }) => specifier !== 'namespace')
  const effective = isOmitted ? { ...settings, namespace: '' } : settings
  const prefix = joinName(settings.namespace, '')
  if (effective !== settings && !BY_HOST_OR_TOPIC.has(toResolver(settings))) {
    const unreachable = services.find(({ name }) => prefix !== '' && name.startsWith(prefix))
    if (unreachable !== undefined)
      warnings.push(
        `service ${unreachable.name} is unreachable by path unless a custom plugin sets the namespace: add namespace to the listed plugins`,
      )
  }
  for (const service of services) {
    if ((handler === 'proxy' || handler === 'web') && isCalled(service)) {
      warnings.push(
        `service ${service.name} uses mx://, but the handler ${handler} forwards plain HTTP: only /rpc can call it; for plain HTTP, use http://host:port`,
      )
    }
    const unreachable = toUnreachable(service.name, effective)
    if (unreachable !== undefined && !routed.includes(service.name))
      warnings.push(`service ${service.name} ${unreachable}`)
  }
  return [...new Set(warnings)]
}

function lacksNetworkToken({ networkNodes, networkToken, profile }: Settings): boolean {
  return networkNodes.length > 0 && networkToken === '' && profile !== 'test'
}

/**
 * Returns settings in the file that an environment variable overrides. An image, a systemd unit or
 * a shell may have set the variable unnoticed.
 */
function findOverridden({ config, inputs }: Configuration): readonly string[] {
  return [...config.settings].flatMap(([key, { source, values }]) => {
    const used = inputs.get(key)
    if (used === undefined || !VARIABLE.test(used.source)) return []
    if (JSON.stringify(used.values) === JSON.stringify(values)) return []
    return `${source} has no effect: the environment variable ${used.source} overrides it`
  })
}

/** Returns whether a node may be an HTTP server that does not support calls. */
function isPlain({ nodes }: Service): boolean {
  return nodes.some(({ metadata }) => /^(?:https?)?$/.test(metadata['protocol'] ?? ''))
}

function formatNames(services: readonly Service[]): string {
  const [first = '', ...rest] = new Set(services.map(({ name }) => name))
  return rest.length === 0 ? first : `${first} and ${rest.length} more`
}

function isCalled({ nodes }: Service): boolean {
  return nodes.some(({ metadata }) => metadata['protocol']?.startsWith('mx'))
}

/** Returns the name of the resolver without options. */
function toResolver({ handler, resolver }: Settings): string {
  return resolver === '' ? nameResolver(handler) : resolver.replace(/:.*/s, '')
}

/** Returns the reason why the resolver cannot route paths to a service. */
function toUnreachable(name: string, settings: Settings): string | undefined {
  const { namespace } = settings
  const resolver = toResolver(settings)
  if (resolver === 'host' || resolver === 'event') return undefined
  const prefix = joinName(namespace, '')
  if (!name.startsWith(prefix)) {
    // The namespace is selected by the host.
    if (resolver === 'subdomain') return undefined
    return `is outside the namespace ${namespace} and reachable only by /rpc and Mx-Namespace; rename it to ${prefix}${name} to route paths to it`
  }
  const inside = name.slice(prefix.length)
  // All other resolvers read a version from the path.
  if (resolver === 'path' || resolver === 'grpc' || !VERSION.test(inside)) return undefined
  return `is named like a version: paths with three segments, /${inside}/<a>/<b>, route to ${name}.<a>`
}
