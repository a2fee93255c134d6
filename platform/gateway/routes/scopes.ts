import type { Plugin } from '../../../core/chain.ts'
import { type ScopedPlugins, toConsumerKey } from '../../../core/plugin/compile-chain.ts'
import type { PluginEnv, PluginScope } from '../../../core/plugin/define.ts'
import { toFullName } from '../../config/configured-services.ts'
import type { Configuration, ConfiguredRoute, PluginEntry } from '../../config/types.ts'
import { buildPlugins } from '../../plugins/build.ts'
import type { PlannedPlugin } from '../../plugins/plan.ts'
import { SettingsError } from '../../settings/sources.ts'
import { createActionPlugins, toScopeKey } from './compile-routes.ts'
import { createPolicyFinder } from './endpoint-policies.ts'
import { createErrorPages, type ErrorPageOptions } from './error-pages.ts'

/** A service or route. */
type ScopedItem = Pick<ConfiguredRoute, 'plugins' | 'timeouts' | 'errors' | 'at'>

/** Name of the plugin that implements `timeout.request`. */
const LIMIT = 'time-limit'

/**
 * Builds the plugins of routes, services and consumers. Plugins of a route replace plugins of its
 * service with the same name.
 *
 * @param find finds the nodes of a service, for error pages.
 * @throws {SettingsError} if a plugin cannot be built.
 */
export async function buildScopes(
  { settings, config }: Configuration,
  env: PluginEnv,
  find: ErrorPageOptions['find'],
): Promise<ScopedPlugins> {
  const { namespace } = settings
  const scopes = new Map<string, readonly Plugin[]>()
  const consumers = new Map<string, readonly Plugin[]>()
  const build = async (scope: PluginScope, item: ScopedItem): Promise<readonly Plugin[]> => {
    const { errors = [] } = item
    const listed = await buildPlugins(toPlan(item, scope), env)
    if (errors.length === 0) return listed
    try {
      return [createErrorPages(scope, errors, { namespace, find, log: env.log }), ...listed]
    } catch (error) {
      for (const plugin of listed) await plugin.close?.()
      throw error
    }
  }
  try {
    for (const service of config.services) {
      const scopePlugins = await build('service', service)
      if (scopePlugins.length > 0) scopes.set(toFullName(service.name, namespace), scopePlugins)
    }
    for (const route of config.routes) {
      const scopePlugins = [...(await build('route', route)), ...createActionPlugins(route)]
      if (scopePlugins.length === 0) continue
      const { action } = route
      const service = action.kind === 'service' ? toFullName(action.service, namespace) : ''
      const inherited = (scopes.get(service) ?? []).filter(
        ({ name }) => !scopePlugins.some((plugin) => plugin.name === name),
      )
      scopes.set(toScopeKey(route), [...inherited, ...scopePlugins])
    }
    for (const { account, namespace, plugins } of config.consumers)
      if (plugins.length > 0)
        consumers.set(
          toConsumerKey({ issuer: namespace, id: account }),
          await buildPlugins(listPlugins(plugins, 'consumer'), env),
        )
  } catch (error) {
    const built = [...scopes.values(), ...consumers.values()].flat()
    for (const plugin of new Set(built)) await plugin.close?.()
    throw error
  }
  return { routes: scopes, consumers, findPolicies: createPolicyFinder(env) }
}

/** Returns the plugins of a service or route, including the plugin for its `timeout.request`. */
function toPlan({ plugins, timeouts, at }: ScopedItem, scope: PluginScope): PlannedPlugin[] {
  const listed = listPlugins(plugins, scope)
  const { request } = timeouts
  if (request === undefined) return listed
  if (listed.some(({ specifier }) => specifier === LIMIT))
    throw new SettingsError([`${at}: timeout.request cannot be combined with the plugin ${LIMIT}`])
  const limit = request === Number.POSITIVE_INFINITY ? 'none' : `${request}ms`
  return [{ specifier: LIMIT, options: { limit }, source: at, scope }, ...listed]
}

function listPlugins(plugins: readonly PluginEntry[], scope: PluginScope): PlannedPlugin[] {
  return plugins.map(({ specifier, options, references, at }) => ({
    ...{ specifier, references },
    options: (options as object | undefined) ?? {},
    source: at,
    scope,
  }))
}
