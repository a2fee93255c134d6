import { resolve } from 'node:path'
import type { Plugin } from '../core/chain.ts'
import type { PluginEnv } from '../core/define-plugin.ts'
import type { Configuration } from './configuration.ts'
import { loadPlugin } from './load-plugin.ts'
import { LOCAL_PLUGINS } from './profiles/local.ts'
import { SettingsError } from './settings-sources.ts'

/** A plugin to build. */
export interface PlannedPlugin {
  /** Name, package, or file (absolute). */
  readonly specifier: string
  readonly options: object
  /** Where it was asked for, for errors. */
  readonly source: string
}

/** The plugins of a configuration in chain order: those of `mx.yaml`, else the default ones; then those of `--plugin`. */
export function planPlugins({ settings, config }: Configuration): readonly PlannedPlugin[] {
  const defaults = LOCAL_PLUGINS.map(({ name, options }) => ({ name, options: options(settings) }))
  const listed = config.plugins?.map(({ specifier, options, at }) => {
    const own = defaults.find(({ name }) => name === specifier)?.options
    return { specifier, options: { ...own, ...(options as object | undefined) }, source: at }
  })
  const standard = defaults.flatMap(({ name, options }) => {
    return options === undefined ? [] : [{ specifier: name, options, source: 'default plugin' }]
  })
  const added = settings.plugins.map((specifier) => {
    const isFile = /^\.{0,2}\//.test(specifier)
    return { specifier: isFile ? resolve(specifier) : specifier, options: {}, source: '--plugin' }
  })
  return [...(listed ?? standard), ...added]
}

/**
 * Builds the plugins of a plan.
 *
 * @throws {SettingsError} naming every plugin that cannot be built and where it was asked for; none is left open then.
 */
export async function buildPlugins(
  plan: readonly PlannedPlugin[],
  env: PluginEnv,
): Promise<readonly Plugin[]> {
  const plugins: Plugin[] = []
  const problems: string[] = []
  for (const { specifier, options, source } of plan) {
    try {
      plugins.push(await loadPlugin(specifier, options, env))
    } catch (error) {
      problems.push(`${source}: ${(error as Error).message}`)
    }
  }
  if (problems.length === 0) return plugins
  for (const plugin of plugins.toReversed()) await plugin.close?.()
  throw new SettingsError(problems)
}
