import type { Plugin } from '../../../core/chain.ts'
import type { PluginEnv } from '../../../core/plugin/define.ts'
import { toFullName } from '../../config/configured-services.ts'
import type { Configuration, ConfiguredRoute } from '../../config/types.ts'
import { buildPlugins } from '../../plugins/build.ts'
import type { PlannedPlugin } from '../../plugins/plan.ts'
import { SettingsError } from '../../settings/sources.ts'
import { createActionPlugins, toScopeKey } from './compile-routes.ts'

/** A service or route. */
type ScopedItem = Pick<ConfiguredRoute, 'plugins' | 'timeouts' | 'at'>

/** Plugin of `timeout.request`. */
const LIMIT = 'time-limit'

/**
 * Builds the plugins of routes and services, by their key in `Chain.scopes`. Plugins of a route replace those of its service with the same
 * name.
 *
 * @throws {SettingsError} when a plugin cannot be built.
 */
export async function buildScopes(
  { settings, config }: Configuration,
  env: PluginEnv,
): Promise<ReadonlyMap<string, readonly Plugin[]>> {
  const { namespace } = settings
  const scopes = new Map<string, readonly Plugin[]>()
  try {
    for (const service of config.services) {
      const plan = toPlan(service)
      if (plan.length > 0)
        scopes.set(toFullName(service.name, namespace), await buildPlugins(plan, env))
    }
    for (const route of config.routes) {
      const own = [...(await buildPlugins(toPlan(route), env)), ...createActionPlugins(route)]
      if (own.length === 0) continue
      const { action } = route
      const service = action.kind === 'service' ? toFullName(action.service, namespace) : ''
      const inherited = (scopes.get(service) ?? []).filter(
        ({ name }) => !own.some((plugin) => plugin.name === name),
      )
      scopes.set(toScopeKey(route), [...inherited, ...own])
    }
  } catch (error) {
    for (const plugin of new Set([...scopes.values()].flat())) await plugin.close?.()
    throw error
  }
  return scopes
}

function toPlan({ plugins, timeouts, at }: ScopedItem): PlannedPlugin[] {
  const listed = plugins.map(({ specifier, options, at }) => ({
    specifier,
    options: (options as object | undefined) ?? {},
    source: at,
  }))
  const { request } = timeouts
  if (request === undefined) return listed
  if (listed.some(({ specifier }) => specifier === LIMIT))
    throw new SettingsError([`${at}: timeout.request and the plugin ${LIMIT} exclude each other`])
  const limit = request === Number.POSITIVE_INFINITY ? 'none' : `${request}ms`
  return [{ specifier: LIMIT, options: { limit }, source: at }, ...listed]
}
