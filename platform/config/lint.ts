import type { Service } from '../../core/contracts/registry.ts'
import { joinName } from '../../core/route.ts'
import { readOtlpVariables } from '../../core/tracing/otlp-variables.ts'
import { nameResolver } from '../gateway/find-resolver.ts'
import type { ServerCommand } from '../settings/setting.ts'
import type { Settings } from '../settings/settings.ts'
import { listServices } from './configured-services.ts'
import type { Configuration } from './types.ts'

const VARIABLE = /^MX_/
const BY_HOST_OR_TOPIC: ReadonlySet<string> = new Set(['host', 'subdomain', 'event'])
const VERSION = /^v\d+$/

/** What is right in a configuration and yet may not be what was meant, a line each for the log. */
export function lintConfiguration(
  configuration: Configuration,
  command: ServerCommand = 'api',
): readonly string[] {
  const { settings } = configuration
  const { handler, registry, broker } = settings
  const services = listServices(configuration)
  const oddities = [...findHidden(configuration)]
  const hasOwnOnly = registry === 'static' || registry === 'memory'
  if (command === 'api' && services.length === 0 && hasOwnOnly && handler !== 'event') {
    oddities.push(
      'no service is known: name one with --backend, under "services" in mx.yaml, or a registry with --registry',
    )
  }
  if (handler === 'event' && broker === 'memory') {
    oddities.push(
      'events reach nobody: the broker is that of this process, and nothing in it subscribes; they are answered 200 and dropped; --broker=nats://host:port has others hear them',
    )
  }
  if (command === 'server' && lacksNetworkToken(settings)) {
    oddities.push(
      'no server will be linked: network_nodes are named, and there is no network_token; set MX_NETWORK_TOKEN, the same at all of them',
    )
  }
  const isTraced = readOtlpVariables().isOn
  const isListed = configuration.config.plugins?.some(({ specifier }) => specifier === 'tracing')
  if (isTraced && isListed === false) {
    oddities.push(
      'requests are in no trace, though OTEL_EXPORTER_OTLP_ENDPOINT is set: the plugins listed are without tracing; add it there',
    )
  }
  const plugins = configuration.config.plugins
  const isLeftOut = plugins?.every(({ specifier }) => specifier !== 'namespace')
  const inForce = isLeftOut ? { ...settings, namespace: '' } : settings
  const prefix = joinName(settings.namespace, '')
  if (inForce !== settings && !BY_HOST_OR_TOPIC.has(toResolver(settings))) {
    const lost = services.find(({ name }) => prefix !== '' && name.startsWith(prefix))
    if (lost !== undefined)
      oddities.push(
        `no path leads to service ${lost.name}, unless a plugin of your own sets the namespace: the plugins listed are without namespace; add it there`,
      )
  }
  for (const service of services) {
    if ((handler === 'proxy' || handler === 'web') && isCalled(service)) {
      oddities.push(
        `service ${service.name} is at mx://, and the handler ${handler} forwards plain HTTP, not calls: only /rpc will call it; plain HTTP is written http://host:port`,
      )
    }
    const unreachable = toUnreachable(service.name, inForce)
    if (unreachable !== undefined) oddities.push(`service ${service.name} ${unreachable}`)
  }
  return [...new Set(oddities)]
}

function lacksNetworkToken({ networkNodes, networkToken, profile }: Settings): boolean {
  return networkNodes.length > 0 && networkToken === '' && profile !== 'test'
}

/** What the file says in vain. Variables are often set by somebody else: an image, a unit, a shell. */
function findHidden({ config, given }: Configuration): readonly string[] {
  return [...config.settings].flatMap(([key, { source, values }]) => {
    const used = given.get(key)
    if (used === undefined || !VARIABLE.test(used.source)) return []
    if (JSON.stringify(used.values) === JSON.stringify(values)) return []
    return `${source} has no effect: the variable ${used.source} goes before it`
  })
}

function isCalled({ nodes }: Service): boolean {
  return nodes.some(({ metadata }) => metadata['protocol']?.startsWith('mx'))
}

/** Without its options. */
function toResolver({ handler, resolver }: Settings): string {
  return resolver === '' ? nameResolver(handler) : resolver.replace(/:.*/s, '')
}

/** Why paths do not lead to a service, by the resolver in force. */
function toUnreachable(name: string, settings: Settings): string | undefined {
  const { namespace } = settings
  const resolver = toResolver(settings)
  if (resolver === 'host' || resolver === 'event') return undefined
  const prefix = joinName(namespace, '')
  if (!name.startsWith(prefix)) {
    // Hosts choose the namespace.
    if (resolver === 'subdomain') return undefined
    return `lies outside the namespace ${namespace}: no path leads to it, only /rpc and Mx-Namespace do; inside it would be ${prefix}${name}`
  }
  const inside = name.slice(prefix.length)
  // The others take no version from a path.
  if (resolver === 'path' || resolver === 'grpc' || !VERSION.test(inside)) return undefined
  return `is named like a version: paths of three segments, /${inside}/<a>/<b>, lead to ${name}.<a>`
}
