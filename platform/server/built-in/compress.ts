import { indexServices, toFullName } from '../../config/configured-services.ts'
import type { Configuration, ConfiguredService, PluginEntry } from '../../config/types.ts'

const PLUGIN = 'compress'
const SOURCE = 'default plugin'
/** Built-in services whose responses contain secrets, which compression could reveal (BREACH). */
const SECRET: ReadonlySet<string> = new Set(['auth', 'config'])

const NO_SETTINGS: Omit<ConfiguredService, 'name'> = {
  ...{ nodes: [], srv: [], dns: undefined, balance: undefined },
  ...{ keepAliveMs: undefined, maxConnectionAgeMs: undefined, timeouts: {} },
  ...{ encodedSlash: false, tls: undefined, host: undefined, plugins: [], at: SOURCE },
}

/** Streams may last for hours and would use up the limit of `compress`, so only complete responses are compressed. */
const COMPRESS: PluginEntry = {
  ...{ specifier: PLUGIN, at: SOURCE },
  options: { types: ['application/json'] },
}

/** Adds the plugin `compress` to the built-in services, unless the gateway or the service has one. */
export function compressBuiltIns(
  configuration: Configuration,
  builtIns: readonly string[],
): Configuration {
  const { settings, config } = configuration
  if (config.plugins?.some(isCompress) === true) return configuration
  const known = indexServices(configuration)
  const added = builtIns
    .filter((name) => !SECRET.has(name))
    .flatMap((name) => {
      const service = known.get(toFullName(name, settings.namespace)) ?? { ...NO_SETTINGS, name }
      if (service.plugins.some(isCompress)) return []
      return [{ ...service, plugins: [...service.plugins, COMPRESS] }]
    })
  const replaced = new Set(added.map(({ name }) => name))
  const services = config.services.filter(({ name }) => !replaced.has(name))
  return { ...configuration, config: { ...config, services: [...services, ...added] } }
}

function isCompress({ specifier }: Pick<PluginEntry, 'specifier'>): boolean {
  return specifier === PLUGIN
}
