import { buildPlugins } from '../../plugins/build.ts'
import { planPlugins } from '../../plugins/plan.ts'
import type { Configuration } from '../types.ts'
import {
  type ConfigVersionsOptions,
  openConfigVersions,
  type ReloadableVersions,
} from './versions.ts'

interface ServerVersionsOptions
  extends Pick<ConfigVersionsOptions, 'initial' | 'load' | 'onSaved' | 'storage' | 'log'> {
  readonly reload: (next: Configuration) => Promise<void>
}

/** Opens the versions of `mx server`. */
export function openServerVersions(options: ServerVersionsOptions): Promise<ReloadableVersions> {
  const { reload, ...rest } = options
  const { log } = rest
  return openConfigVersions({
    ...rest,
    noFileReason: undefined,
    async check(next) {
      const plugins = await buildPlugins(planPlugins(next), { log, nowMs: Date.now })
      for (const plugin of plugins.toReversed()) await plugin.close?.()
    },
    async install(next, save) {
      await reload(next)
      await save()
    },
  })
}
