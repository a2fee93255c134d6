import type { Chain, Plugin } from '../../../core/chain.ts'
import { toFullName } from '../../config/configured-services.ts'
import type { Configuration, PluginEntry } from '../../config/types.ts'
import type { PlannedPlugin } from '../../plugins/plan.ts'
import { createActionPlugins, toScopeKey } from '../routes/compile-routes.ts'

/** Origin of a plugin. */
export interface PluginSource {
  readonly scope: 'gateway' | 'service' | 'route'
  /** `mx.yaml:3:5`, the name of a setting, or `default plugin`. */
  readonly source: string
}

/** Origins of the configured plugins of a chain, including plugins of its services and routes. */
export function findPluginSources(
  { plugins, scopes }: Chain,
  plan: readonly PlannedPlugin[],
  { settings, config }: Configuration,
): ReadonlyMap<Plugin, PluginSource> {
  const sources = new Map<Plugin, PluginSource>()
  for (const [i, { source }] of plan.entries())
    sources.set(plugins[i]!, { scope: 'gateway', source })
  // The plugins of a scope follow the inherited ones, and its action plugins are the last.
  const add = (
    scope: PluginSource['scope'],
    key: string,
    entries: readonly PluginEntry[],
    actions = 0,
  ): void => {
    const from = (scopes.get(key)?.plugins.length ?? 0) - actions - entries.length
    for (const [i, { at }] of entries.entries())
      sources.set(scopes.get(key)!.plugins[from + i]!, { scope, source: at })
  }
  for (const { name, plugins } of config.services)
    add('service', toFullName(name, settings.namespace), plugins)
  for (const route of config.routes)
    add('route', toScopeKey(route), route.plugins, createActionPlugins(route).length)
  return sources
}
