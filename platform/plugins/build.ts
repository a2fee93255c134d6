import type { Plugin } from '../../core/chain.ts'
import type { PluginEnv } from '../../core/plugin/define.ts'
import { OptionsError } from '../../core/plugin/options.ts'
import { SettingsError } from '../settings/sources.ts'
import { loadPlugin } from './load.ts'
import { PLUGIN_FLAG, type PlannedPlugin } from './plan.ts'

/**
 * Builds the plugins of a plan. @throws {SettingsError} listing each plugin that failed, with its source. All plugins
 * are then closed.
 */
export async function buildPlugins(
  plan: readonly PlannedPlugin[],
  env: PluginEnv,
): Promise<readonly Plugin[]> {
  const plugins: Plugin[] = []
  const problems: string[] = []
  for (const planned of plan) {
    const { specifier, options, references, scope } = planned
    try {
      plugins.push(await loadPlugin(specifier, options, env, scope, references))
    } catch (error) {
      problems.push(...explain(error as Error, planned))
    }
  }
  if (problems.length === 0) return plugins
  for (const plugin of plugins.toReversed()) await plugin.close?.()
  throw new SettingsError(problems)
}

function explain(error: Error, { specifier, source }: PlannedPlugin): string[] {
  if (!(error instanceof OptionsError)) return [`${source}: ${error.message}`]
  const { problems, missing } = error
  const lines = problems.map((problem) => `${source}: ${problem}`)
  if (source !== PLUGIN_FLAG || missing.length === 0) return lines
  const options = missing.map((name) => `${name}: ...`).join(', ')
  return [
    ...lines,
    `${source} cannot set options; list the plugin under "plugins" in mx.yaml instead: "- ${specifier}: { ${options} }"`,
  ]
}
