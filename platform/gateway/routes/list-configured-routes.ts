import { formatTemplate } from '../../../core/path/format-template.ts'
import type {
  ConfiguredRouteMessage,
  ConfiguredRoutesPage,
  ConfiguredRoutesRequest,
  RoutePluginMessage,
} from '../../../services/gateway/configured-routes.ts'
import { toFullName } from '../../config/configured-services.ts'
import type {
  Configuration,
  ConfiguredRoute,
  PluginEntry,
  RouteMatch,
  RouteValue,
} from '../../config/types.ts'
import { formatSpecifier } from '../../plugins/plan.ts'

/** Returns one page of the configured routes that contain all words of `search`. */
export function listConfiguredRoutes(
  { config, settings }: Configuration,
  { search, limit, skip }: ConfiguredRoutesRequest,
): ConfiguredRoutesPage {
  const services = new Map(
    config.services.map((service) => [toFullName(service.name, settings.namespace), service]),
  )
  const words = search.toLowerCase().split(/\s+/)
  const routes: ConfiguredRouteMessage[] = []
  let total = 0
  for (const route of config.routes) {
    const { action } = route
    const service =
      action.kind === 'service' ? toFullName(action.service, settings.namespace) : undefined
    const message = toMessage(route, service, services.get(service ?? '')?.plugins ?? [])
    const text = JSON.stringify(message).toLowerCase()
    if (!words.every((word) => text.includes(word))) continue
    if (total >= skip && routes.length < limit) routes.push(message)
    total++
  }
  return { routes, total }
}

function toMessage(
  { name, match, action, plugins, at }: ConfiguredRoute,
  service: string | undefined,
  inherited: readonly PluginEntry[],
): ConfiguredRouteMessage {
  const routePlugins = listPlugins('route', plugins)
  const others = listPlugins('service', inherited).filter(
    (plugin) => !routePlugins.some((other) => other.name === plugin.name),
  )
  return {
    ...{ name, source: at, methods: match.methods },
    paths: match.paths.map(formatTemplate),
    hosts: match.hosts.filter((host) => host !== '*'),
    conditions: listConditions(match),
    action: toAction(action, service),
    plugins: [...others, ...routePlugins],
  }
}

function listConditions({ headers, query, clients, listeners }: RouteMatch): string[] {
  const format = (kind: string, { name, kind: test, value }: RouteValue): string => {
    if (test === 'present') return `${kind} ${name}`
    return `${kind} ${name} ${test === 'exact' ? '=' : 'begins with'} ${value}`
  }
  return [
    ...headers.map((value) => format('header', value)),
    ...query.map((value) => format('query', value)),
    ...(clients.length === 0 ? [] : [`client in ${clients.join(', ')}`]),
    ...(listeners.length === 0 ? [] : [`listener in ${listeners.join(', ')}`]),
  ]
}

function toAction(action: ConfiguredRoute['action'], service: string | undefined): string {
  if (action.kind === 'service') return `service ${service}`
  return action.kind === 'respond' ? `respond ${action.status}` : action.kind
}

function listPlugins(
  scope: string,
  entries: readonly PluginEntry[],
): readonly RoutePluginMessage[] {
  return entries.map(({ specifier, at }) => {
    const name = formatSpecifier({ specifier, options: {}, source: at })
    return { name, scope, source: at }
  })
}
