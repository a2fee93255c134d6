import type { Handler, Plugin } from '../../../core/chain.ts'
import { GATEWAY_ID } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import type { PathTemplate } from '../../../core/path/template.ts'
import type { RouteRule } from '../../../core/route.ts'
import { mergePolicies } from '../../../core/upstream/policies/merge-policies.ts'
import { HANDLERS } from '../../../resolvers/endpoint/declared.ts'
import { indexServices, toFullName } from '../../config/configured-services.ts'
import type {
  Configuration,
  ConfiguredRoute,
  ConfiguredTimeouts,
  RouteAction,
} from '../../config/types.ts'
import { SettingsError } from '../../settings/sources.ts'
import { createRedirect, createRespond } from './actions.ts'
import { type ClientSets, createClientSets } from './client-sets.ts'
import type { RouteConditions } from './conditions.ts'
import {
  buildRouteTable,
  type CompiledRoute,
  type ConfiguredRouteTable,
} from './configured-routes.ts'
import { createFilesHandler } from './files.ts'
import { compileHost } from './rewrite/host-template.ts'
import { findPrefixChange } from './rewrite/prefix-change.ts'
import { createPrefixPlugin, HAS_NO_PREFIX } from './rewrite/prefix-plugin.ts'
import { compilePath, compileText, replacePrefix } from './rewrite/rewrite.ts'

type ServiceAction = Extract<RouteAction, { kind: 'service' }>

/** Returns the key of a route's plugins in `Chain.scopes`. */
export function toScopeKey({ name }: Pick<ConfiguredRoute, 'name'>): string {
  // Cannot collide with a service name, which contains no colon.
  return `route:${name}`
}

/** Creates the plugins that a route needs for its action. */
export function createActionPlugins(route: ConfiguredRoute): readonly Plugin[] {
  const change = findPrefixChange(route)
  return change === undefined ? [] : [createPrefixPlugin(change)]
}

/**
 * Compiles the routes of a configuration, one for each path in `match`.
 *
 * @throws {SettingsError} with the position of each invalid route.
 */
export function compileRoutes(configuration: Configuration): ConfiguredRouteTable {
  const { settings, config, file } = configuration
  const services = indexServices(configuration)
  const clientSets = createClientSets(config.routes)
  const problems: string[] = []
  const routes = config.routes.flatMap((route) => {
    try {
      const compiled = compileRoute(route, settings.namespace, file, clientSets)
      if (route.policies === undefined) return compiled
      return compiled.map((each) => {
        const configuredPolicies = [
          config.policies,
          services.get(each.service)?.policies,
          route.policies,
        ]
        const merged = mergePolicies(settings.zone, ...configuredPolicies)
        const { retry, hedge } = merged
        const hasLimit = route.policies?.concurrency !== undefined
        const concurrency = hasLimit ? (merged.concurrency ?? ('off' as const)) : undefined
        return { ...each, rule: { ...each.rule, retry, hedge, concurrency } }
      })
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      problems.push(`${route.at}: route ${route.name}: ${error.message}`)
      return []
    }
  })
  if (problems.length > 0) throw new SettingsError(problems)
  try {
    return buildRouteTable(routes)
  } catch (error) {
    throw new SettingsError([(error as Error).message], { cause: error })
  }
}

function compileRoute(
  route: ConfiguredRoute,
  namespace: string,
  configFile: string | undefined,
  clientSets: ClientSets,
): CompiledRoute[] {
  const { match, action, name, plugins, timeouts, errors = [] } = route
  const { hosts, methods, headers, query, clients, listeners } = match
  const conditions: RouteConditions = {
    ...{ headers, query, listeners },
    clients: clients.length === 0 ? undefined : clientSets(clients),
  }
  const isScoped =
    timeouts.request !== undefined ||
    plugins.length + errors.length + createActionPlugins(route).length > 0
  const scope = isScoped ? toScopeKey(route) : undefined
  return match.paths.map((template) => {
    const rule: RouteRule = {
      ...{ name, scope },
      timeouts: toCallTimeouts(timeouts),
      priority: route.priority,
      rewrite: action.kind === 'service' ? compileRewrite(action, template) : undefined,
      handler: compileHandler(action, template, configFile),
    }
    const isCall = action.kind === 'service'
    return {
      ...{ template, hosts, methods, conditions, rule },
      service: isCall ? toFullName(action.service, namespace) : GATEWAY_ID,
      endpoint: isCall ? action.endpoint : '',
      handler: isCall ? HANDLERS.get(action.handler ?? '') : undefined,
    }
  })
}

function toCallTimeouts({ response, idle }: ConfiguredTimeouts): RouteRule['timeouts'] {
  if (response === undefined && idle === undefined) return undefined
  return { replyMs: response, idleMs: idle }
}

function compileHandler(
  action: RouteAction,
  template: PathTemplate,
  configFile: string | undefined,
): Handler | undefined {
  if (action.kind === 'service') return undefined
  if (action.kind === 'files') return createFilesHandler(action, configFile)
  if (action.kind === 'respond') return createRespond(action)
  const { scheme, host, path, status } = action
  return createRedirect({
    ...{ scheme, status },
    host: host === undefined ? undefined : compileHost(host, template, scheme !== undefined),
    path: path === undefined ? undefined : compilePath(path, template),
  })
}

function compileRewrite(
  { stripPrefix: prefix, addPrefix, path, host, query }: ServiceAction,
  template: PathTemplate,
): RouteRule['rewrite'] {
  const toPath = path === undefined ? undefined : compilePath(path, template)
  const segments = prefix.split('/').slice(1)
  const parameters = query.map(
    ([name, value]) => [name, compileText(value, template, (text) => text)] as const,
  )
  const toHost = host === undefined ? undefined : compileHost(host, template, false, 'rewrite')
  const hasPath = toPath !== undefined || prefix !== addPrefix
  if (!hasPath && toHost === undefined && parameters.length === 0) return undefined
  const changePrefix = (x: Exchange): void => {
    const changed = replacePrefix(x.path, segments, addPrefix)
    if (changed === undefined) x.state.set(HAS_NO_PREFIX, true)
    x.rewrite(changed ?? addPrefix + x.path)
  }
  return (x: Exchange) => {
    if (toHost !== undefined) x.headers.set('host', toHost(x))
    if (toPath !== undefined) x.rewrite(toPath(x))
    else if (prefix !== addPrefix) changePrefix(x)
    if (parameters.length === 0) return
    // The constructor drops one leading `?`, which belongs to the name of the first parameter here.
    const changed = new URLSearchParams(`?${x.query}`)
    for (const [name, render] of parameters) changed.set(name, render(x))
    x.rewriteQuery(changed.toString())
  }
}
