import { isAbsolute, relative, resolve } from 'node:path'
import type { Configuration } from '../config/types.ts'
import { SETTINGS, type SettingsInput } from '../settings/settings.ts'
import { SettingsError } from '../settings/sources.ts'
import { DEFAULT_PLUGINS, type DefaultPlugin } from './defaults.ts'

/** A plugin to build. */
export interface PlannedPlugin {
  /** Name, package, or file (absolute). */
  readonly specifier: string
  readonly options: object
  /** Where it was asked for, for errors. */
  readonly source: string
}

/** Source of what `--plugin` names. */
export const PLUGIN_FLAG = '--plugin'

/**
 * The plugins of a configuration in chain order: those of `mx.yaml`, else the default ones, guards always; then those of `--plugin`.
 *
 * @throws {SettingsError} when one is named twice, or a setting was given whose plugin `mx.yaml` leaves out.
 */
export function planPlugins(configuration: Configuration): readonly PlannedPlugin[] {
  const listed = listPlugins(configuration)
  const plan = [
    ...(listed === undefined ? standardPlugins(configuration) : withGuards(listed, configuration)),
    ...addedPlugins(configuration),
  ]
  const problems = [...findRepeated(plan), ...findUnserved(plan, configuration)]
  if (problems.length > 0) throw new SettingsError(problems)
  return plan
}

/**
 * The plugins of the dashboard: those that reject other hosts and origins, and with `trusted_proxies` the one that finds the
 * address of the client. A visit from a trusted address without a forwarding header is one from that machine.
 */
export function planDashboardPlugins(configuration: Configuration): readonly PlannedPlugin[] {
  const guards = findGuards(configuration, ['everywhere'])
  if (configuration.settings.trustedProxies.length === 0) return guards
  const forwarded = standardPlugins(configuration)
    .filter(({ specifier }) => specifier === 'forwarded')
    .map((plugin) => ({ ...plugin, options: { ...plugin.options, optional: true } }))
  return [...guards, ...forwarded]
}

function findGuards(
  configuration: Configuration,
  kinds: readonly DefaultPlugin['guard'][],
): readonly PlannedPlugin[] {
  const guards = DEFAULT_PLUGINS.filter(
    ({ guard }) => guard !== undefined && kinds.includes(guard),
  ).map(({ name }) => name)
  return standardPlugins(configuration).filter(({ specifier }) => guards.includes(specifier))
}

function listPlugins({ settings, config, given }: Configuration): PlannedPlugin[] | undefined {
  return config.plugins?.flatMap(({ specifier, options, at }) => {
    const standard = DEFAULT_PLUGINS.find(({ name }) => name === specifier)
    const own = standard?.options(settings)
    // Switched off by its setting, as in --access_log=off; options written in the list would want it.
    const isOff = standard !== undefined && own === undefined && givenFor(standard, given)
    if (isOff && options === undefined) return []
    return [{ specifier, options: { ...own, ...(options as object | undefined) }, source: at }]
  })
}

/** The guards that a list is without are put where they stand by default: behind what only tells of requests. */
function withGuards(listed: PlannedPlugin[], configuration: Configuration): PlannedPlugin[] {
  const isListed = (name: string): boolean => listed.some(({ specifier }) => specifier === name)
  const guards = findGuards(configuration, ['gateway', 'everywhere']).filter(
    ({ specifier }) => !isListed(specifier),
  )
  const first = DEFAULT_PLUGINS.findIndex(({ guard }) => guard)
  const before = DEFAULT_PLUGINS.slice(0, first).map(({ name }) => name)
  const at = listed.findIndex(({ specifier }) => !before.includes(specifier))
  return listed.toSpliced(at === -1 ? listed.length : at, 0, ...guards)
}

function standardPlugins({ settings, given }: Configuration): PlannedPlugin[] {
  return DEFAULT_PLUGINS.flatMap((plugin) => {
    const options = plugin.options(settings)
    const source = givenFor(plugin, given)?.source ?? 'default plugin'
    return options === undefined ? [] : [{ specifier: plugin.name, options, source }]
  })
}

function addedPlugins({ settings }: Configuration): PlannedPlugin[] {
  return settings.plugins.map((specifier) => {
    const isFile = /^\.{0,2}\//.test(specifier)
    return { specifier: isFile ? resolve(specifier) : specifier, options: {}, source: PLUGIN_FLAG }
  })
}

/** A plugin as people write it: a file relative to the working folder, anything else by name. */
export function formatSpecifier({ specifier }: PlannedPlugin): string {
  if (!isAbsolute(specifier)) return specifier
  const path = relative(process.cwd(), specifier)
  return path.startsWith('..') ? path : `./${path}`
}

function findRepeated(plan: readonly PlannedPlugin[]): string[] {
  return plan.flatMap(({ specifier, source }, i) => {
    const first = plan.find((each) => each.specifier === specifier)
    return first === plan[i]
      ? []
      : [`${source}: plugin ${specifier} is in the chain already (${first?.source})`]
  })
}

/** Settings that somebody gave and no plugin obeys: a limit believed to hold would not. */
function findUnserved(
  plan: readonly PlannedPlugin[],
  { settings, config, given, file }: Configuration,
): string[] {
  if (config.plugins === undefined) return []
  return DEFAULT_PLUGINS.flatMap((plugin) => {
    const source = givenFor(plugin, given)?.source
    const isWanted = source !== undefined && plugin.options(settings) !== undefined
    if (!isWanted || plan.some(({ specifier }) => specifier === plugin.name)) return []
    return [
      `${source} has no effect: the plugins listed in ${file} are without ${plugin.name}; add it there, or leave ${SETTINGS[plugin.setting!].name} out`,
    ]
  })
}

function givenFor({ setting }: DefaultPlugin, given: SettingsInput) {
  return setting === undefined ? undefined : given.get(setting)
}
