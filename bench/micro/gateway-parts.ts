import { createStaticRegistry } from '../../adapters/registry/static.ts'
import type { Plugin } from '../../core/chain.ts'
import type { Service } from '../../core/contracts/registry.ts'
import { createPlugin, type PluginEnv } from '../../core/plugin/define.ts'
import { ServiceCache } from '../../core/registry/service-cache.ts'
import { Pool } from '../../core/upstream/pool/pool.ts'
import { DEFAULT_PLUGINS } from '../../platform/plugins/defaults.ts'
import type { Settings } from '../../platform/settings/settings.ts'
import { mergeSettings } from '../../platform/settings/sources.ts'
import { plugins } from '../../plugins/index.gen.ts'

/** Creates a service with `count` nodes, which receive no connections. */
export function createService(name: string, count: number): Service {
  const nodes = Array.from({ length: count }, (_, i) => ({
    id: `${name}-${i}`,
    address: `127.0.0.1:${9000 + i}`,
    metadata: { weight: String(1 + (i % 3)) },
  }))
  return { name, version: 'latest', metadata: {}, endpoints: [], nodes }
}

/** Creates a service cache. */
export function createDirectory(services: readonly Service[]): ServiceCache {
  const createPool = ({
    host,
    port,
    secure,
    pipeline,
  }: {
    host: string
    port: number
    secure: boolean
    pipeline: number
  }) =>
    new Pool({
      ...{ host, port, secure, pipeline, maxConnections: 1, maxWaiting: 1 },
      ...{ timeouts: { connectMs: 1000, replyMs: 1000, idleMs: 1000 }, keepAliveMs: 1000 },
    })
  return new ServiceCache(createStaticRegistry(services), { upstream: () => ({ createPool }) })
}

/** Creates a gateway plugin. */
export function createBenchPlugin(
  name: string,
  options: object,
  authorizer?: PluginEnv['authorizer'],
): Plugin {
  const quiet = () => {}
  return createPlugin(plugins[name]!, options, {
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    nowMs: Date.now,
    authorizer,
  })
}

/** Creates the default plugins of a gateway, with an access log if a file is set. */
export function createDefaultPlugins(accessLog: string): readonly Plugin[] {
  const settings: Settings = { ...mergeSettings(), accessLog }
  return DEFAULT_PLUGINS.flatMap(({ name, options }) => {
    const parts = options(settings)
    return parts === undefined ? [] : [createBenchPlugin(name, parts)]
  })
}
