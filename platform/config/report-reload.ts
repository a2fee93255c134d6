import { formatSpecifier, planPlugins } from '../plugins/plan.ts'
import type { Log } from '../process/log.ts'
import { SETTINGS, type Settings } from '../settings/settings.ts'
import { SETTING_KEYS } from '../settings/sources.ts'
import { indexServices, listServices } from './configured-services.ts'
import { lintConfiguration } from './lint.ts'
import type { Configuration, ConfiguredService } from './types.ts'

/** Logs the changes of a reload, settings that require a restart, and new warnings. */
export function reportReload(
  before: Configuration,
  after: Configuration,
  restart: readonly string[],
  log: Log,
): void {
  if (restart.length > 0) log.warn(`restart required to apply: ${restart.join(', ')}`)
  log.info(findChanges(before, after), 'configuration reloaded')
  const known = lintConfiguration(before)
  for (const warning of lintConfiguration(after)) if (!known.includes(warning)) log.warn(warning)
}

/** Names of changed items by kind, without empty kinds. Exported for its test. */
export function findChanges(
  before: Configuration,
  after: Configuration,
): Readonly<Record<string, readonly string[]>> {
  const changes = {
    ...compare('services', toServices(before), toServices(after)),
    ...compare('plugins', toPlugins(before), toPlugins(after)),
    settings: SETTING_KEYS.filter(
      (key) =>
        !LISTED_SEPARATELY.includes(key) && !isEqual(before.settings[key], after.settings[key]),
    ).map((key) => SETTINGS[key].name),
  }
  return Object.fromEntries(Object.entries(changes).filter(([, names]) => names.length > 0))
}

const LISTED_SEPARATELY: readonly (keyof Settings)[] = ['backends', 'plugins']

function toServices(configuration: Configuration): Map<string, unknown> {
  const configured = indexServices(configuration)
  const services = new Map<string, unknown[]>()
  for (const { name, nodes } of listServices(configuration))
    services.set(name, [...(services.get(name) ?? [toSettings(configured.get(name))]), ...nodes])
  return services
}

/** Settings of a service without their positions in the file. */
function toSettings(service: ConfiguredService | undefined): unknown {
  if (service === undefined) return undefined
  const { name: _name, nodes: _nodes, at: _at, plugins, tls, ...settings } = service
  return {
    ...settings,
    plugins: plugins.map(({ specifier, options }) => [specifier, options]),
    tls: tls?.id,
  }
}

function toPlugins(configuration: Configuration): Map<string, unknown> {
  return new Map(
    planPlugins(configuration).map((plugin) => [formatSpecifier(plugin), plugin.options]),
  )
}

function compare(
  kind: string,
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): Record<string, readonly string[]> {
  const common = [...after.keys()].filter((name) => before.has(name))
  return {
    [`${kind}Added`]: [...after.keys()].filter((name) => !before.has(name)),
    [`${kind}Removed`]: [...before.keys()].filter((name) => !after.has(name)),
    [`${kind}Changed`]: common.filter((name) => !isEqual(before.get(name), after.get(name))),
  }
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
