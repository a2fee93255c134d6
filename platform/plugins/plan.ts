import { isAbsolute, relative, resolve } from 'node:path'
import type { PluginScope } from '../../core/plugin/define.ts'
import { findRedirects } from '../config/listen/main-listener.ts'
import type { ReferencedOptions } from '../config/references/option-values.ts'
import type { Configuration } from '../config/types.ts'
import { SETTINGS, type SettingsInput } from '../settings/settings.ts'
import { SettingsError } from '../settings/sources.ts'
import { DEFAULT_PLUGINS, type DefaultPlugin } from './defaults.ts'

/** A plugin that will be built. */
export interface PlannedPlugin {
  /** Name, package, or absolute path of a file. */
  readonly specifier: string
  readonly options: object
  /** Options whose values come from references. @default none */
  readonly references?: ReferencedOptions | undefined
  /** Source of the entry, for error messages. */
  readonly source: string
  /** Where the plugin is listed. @default gateway */
  readonly scope?: PluginScope
}

export const PLUGIN_FLAG = '--plugin'
const HTTPS_PORT = 443

/**
 * Returns the plugins of a configuration in chain order: the plugins in `mx.yaml` or the default
 * plugins, always including the guards, followed by the plugins in `--plugin`.
 *
 * @throws {SettingsError} for a duplicate plugin, or a setting whose plugin is missing from
 * `mx.yaml`.
 */
export function planPlugins(configuration: Configuration): readonly PlannedPlugin[] {
  const listed = listPlugins(configuration)
  const main =
    listed === undefined ? standardPlugins(configuration) : withGuards(listed, configuration)
  const plan = [...withRedirect(main, configuration), ...addedPlugins(configuration)]
  const problems = [...findDuplicates(plan), ...findIneffective(plan, configuration)]
  if (problems.length > 0) throw new SettingsError(problems)
  return plan
}

/**
 * Returns the plugins of the dashboard, which compress pages, reject other hosts and origins, and
 * determine the client address if `trusted_proxies` is set. A request from a trusted address without a forwarding
 * header is accepted as a request from that machine.
 */
export function planDashboardPlugins(configuration: Configuration): readonly PlannedPlugin[] {
  const compress = { specifier: 'compress', options: {}, source: 'default plugin' }
  const plugins = [...findGuards(configuration, ['everywhere']), compress]
  if (configuration.settings.trustedProxies.length === 0) return plugins
  const forwarded = standardPlugins(configuration)
    .filter(({ specifier }) => specifier === 'forwarded')
    .map((plugin) => ({ ...plugin, options: { ...plugin.options, optional: true } }))
  return [...plugins, ...forwarded]
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

function listPlugins({ settings, config, inputs }: Configuration): PlannedPlugin[] | undefined {
  return config.plugins?.flatMap(({ specifier, options, references, at }) => {
    const standard = DEFAULT_PLUGINS.find(({ name }) => name === specifier)
    const defaults = standard?.options(settings)
    // Disabled by its setting, for example --access_log=off, unless the list specifies options.
    const isOff = standard !== undefined && defaults === undefined && findSetting(standard, inputs)
    if (isOff && options === undefined) return []
    const all = { ...defaults, ...(options as object | undefined) }
    return [{ specifier, options: all, references, source: at }]
  })
}

/** Inserts missing guards at their default position, after plugins that only observe requests. */
function withGuards(listed: PlannedPlugin[], configuration: Configuration): PlannedPlugin[] {
  const isListed = (name: string): boolean => listed.some(({ specifier }) => specifier === name)
  const guards = findGuards(configuration, ['gateway', 'everywhere']).filter(
    ({ specifier }) => !isListed(specifier),
  )
  const first = DEFAULT_PLUGINS.findIndex(({ guard }) => guard)
  const observers = DEFAULT_PLUGINS.slice(0, first).map(({ name }) => name)
  const at = listed.findIndex(({ specifier }) => !observers.includes(specifier))
  return listed.toSpliced(at === -1 ? listed.length : at, 0, ...guards)
}

/**
 * Inserts the redirect of `https_redirect` before the plugins that require the original request.
 */
function withRedirect(
  plan: readonly PlannedPlugin[],
  { settings, config }: Configuration,
): readonly PlannedPlugin[] {
  const redirects = findRedirects(config.listen)
  if (redirects === undefined) return plan
  const { port } = settings.address
  const options = { port: port === 0 ? HTTPS_PORT : port, listeners: redirects.names }
  const redirect = { specifier: 'redirect-https', options, source: redirects.at }
  const auth = DEFAULT_PLUGINS.findIndex(({ name }) => name === 'auth')
  const before = DEFAULT_PLUGINS.slice(0, auth).map(({ name }) => name)
  const at = plan.findIndex(({ specifier }) => !before.includes(specifier))
  return plan.toSpliced(at === -1 ? plan.length : at, 0, redirect)
}

function standardPlugins({ settings, inputs }: Configuration): PlannedPlugin[] {
  return DEFAULT_PLUGINS.flatMap((plugin) => {
    const options = plugin.options(settings)
    const source = findSetting(plugin, inputs)?.source ?? 'default plugin'
    return options === undefined ? [] : [{ specifier: plugin.name, options, source }]
  })
}

function addedPlugins({ settings }: Configuration): PlannedPlugin[] {
  return settings.plugins.map((specifier) => {
    const isFile = /^\.{0,2}\//.test(specifier)
    return { specifier: isFile ? resolve(specifier) : specifier, options: {}, source: PLUGIN_FLAG }
  })
}

/** Returns the specifier for display. Files are relative to the working folder. */
export function formatSpecifier({ specifier }: PlannedPlugin): string {
  if (!isAbsolute(specifier)) return specifier
  const path = relative(process.cwd(), specifier)
  return path.startsWith('..') ? path : `./${path}`
}

function findDuplicates(plan: readonly PlannedPlugin[]): string[] {
  return plan.flatMap(({ specifier, source }, i) => {
    const first = plan.find((each) => each.specifier === specifier)
    return first === plan[i]
      ? []
      : [`${source}: plugin ${specifier} is already in the chain (${first?.source})`]
  })
}

/** Finds explicit settings whose plugin is missing. Without this check, a limit would silently not apply. */
function findIneffective(
  plan: readonly PlannedPlugin[],
  { settings, config, inputs, file }: Configuration,
): string[] {
  if (config.plugins === undefined) return []
  return DEFAULT_PLUGINS.flatMap((plugin) => {
    const source = findSetting(plugin, inputs)?.source
    const isEffective = source !== undefined && plugin.options(settings) !== undefined
    if (!isEffective || plan.some(({ specifier }) => specifier === plugin.name)) return []
    return [
      `${source} has no effect: add the plugin ${plugin.name} to the list in ${file}, or remove ${SETTINGS[plugin.setting!].name}`,
    ]
  })
}

function findSetting({ setting }: DefaultPlugin, inputs: SettingsInput) {
  return setting === undefined ? undefined : inputs.get(setting)
}
