import type { Chain, Plugin } from '../../../core/chain.ts'
import { toConsumerKey } from '../../../core/plugin/compile-chain.ts'
import type { PluginScope } from '../../../core/plugin/define.ts'
import { toFullName } from '../../config/configured-services.ts'
import type { Configuration, ConfiguredRoute, PluginEntry } from '../../config/types.ts'
import type { PlannedPlugin } from '../../plugins/plan.ts'
import { createActionPlugins, toScopeKey } from '../routes/compile-routes.ts'

/** Origin of a plugin. */
export interface PluginSource {
  readonly scope: PluginScope
  /**
   * Source position such as `mx.yaml:3:5`, the name of a setting, `default plugin`, or `registry`.
   */
  readonly source: string
}

/**
 * Finds the origins of the configured plugins in a chain, including plugins of its services and
 * routes.
 */
export function findPluginSources(
  { plugins, scopes, ofConsumer }: Chain,
  plan: readonly PlannedPlugin[],
  { settings, config }: Configuration,
): ReadonlyMap<Plugin, PluginSource> {
  const sources = new Map<Plugin, PluginSource>()
  for (const [i, { source }] of plan.entries())
    sources.set(plugins[i]!, { scope: 'gateway', source })
  // The plugins of a scope follow the inherited ones; its action plugins come last.
  const add = (
    scope: PluginScope,
    entries: readonly Pick<PluginEntry, 'at'>[],
    chain: Chain | undefined,
    actions = 0,
  ): void => {
    const from = (chain?.plugins.length ?? 0) - actions - entries.length
    for (const [i, { at }] of entries.entries())
      sources.set(chain!.plugins[from + i]!, { scope, source: at })
  }
  for (const service of config.services)
    add(
      'service',
      listConfigured(service),
      scopes.get(toFullName(service.name, settings.namespace)),
    )
  for (const route of config.routes)
    add(
      'route',
      listConfigured(route),
      scopes.get(toScopeKey(route)),
      createActionPlugins(route).length,
    )
  for (const { account, namespace, plugins } of config.consumers)
    add('consumer', plugins, ofConsumer(toConsumerKey({ issuer: namespace, id: account })))
  return sources
}

/**
 * Lists the plugins of a service or route in order, starting with the plugin for its
 * `timeout.request`.
 */
function listConfigured({
  plugins,
  timeouts,
  at,
}: Pick<ConfiguredRoute, 'plugins' | 'timeouts' | 'at'>): readonly Pick<PluginEntry, 'at'>[] {
  return timeouts.request === undefined ? plugins : [{ at }, ...plugins]
}
