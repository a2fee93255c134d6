import { lstatSync } from 'node:fs'
import { planPlugins } from '../plugins/plan.ts'
import { readProfile } from '../settings/command.ts'
import { readEnvironment } from '../settings/env.ts'
import type { ServerCommand } from '../settings/setting.ts'
import { SETTINGS, type Settings, type SettingsInput } from '../settings/settings.ts'
import {
  findInvalidValues,
  mergeInputs,
  mergeSettings,
  SETTING_KEYS,
  SettingsError,
} from '../settings/sources.ts'
import { validatePorts, validateServer } from '../settings/validate.ts'
import { findMissingNodes } from './configured-services.ts'
import { LISTEN_KEYS, validateListen } from './listen/main-listener.ts'
import { readConfigText } from './read-config-text.ts'
import { fetchSecrets, listSecretPaths } from './references/fetch-secrets.ts'
import { References } from './references/references.ts'
import { type ConfigFile, type Configuration, NO_CONFIG } from './types.ts'

/** Default file in the working folder. */
const DEFAULT_FILE = 'mx.yaml'

/**
 * Loads the configuration. Order of precedence: flags, environment, file, profile, defaults.
 *
 * @param text contents to use instead of reading the file; errors name the file or `mx.yaml`. An
 * empty text means no file.
 */
export type LoadConfiguration = (text?: string) => Promise<Configuration>

/**
 * Creates the {@link LoadConfiguration} used at startup and for each reload.
 *
 * @param problems problems with the flags, reported together with all other problems.
 * @throws {SettingsError} (the returned function) with each problem and its source.
 */
export function configurationFrom(
  flags: SettingsInput,
  env: NodeJS.ProcessEnv,
  command: ServerCommand = 'api',
  problems: readonly string[] = [],
): LoadConfiguration {
  const environment = readEnvironment(env, command)
  const configFile = (flags.get('config') ?? environment.get('config'))?.values[0]
  const references = new References(env)
  // A file that was used once is required, so its later removal is an error.
  let file = configFile
  return async (text) => {
    // A dangling symbolic link is an error, not a missing file.
    if (text === undefined && lstatSync(DEFAULT_FILE, { throwIfNoEntry: false }) !== undefined)
      file ??= DEFAULT_FILE
    const sources = mergeInputs(flags, environment)
    const config =
      text === '' || (file === undefined && text === undefined)
        ? { ...NO_CONFIG, references }
        : await read({ file: file ?? DEFAULT_FILE, text, references }, command, sources, problems)
    const inputs = mergeInputs(flags, environment, config.settings)
    if (problems.length > 0) throw new SettingsError([...problems, ...findInvalidValues(inputs)])
    return references.hidden.guard(async () => {
      const configuration = { settings: merge(inputs, command), config, inputs, file }
      const conflicts = [...validateListen(configuration), ...findMissingNodes(configuration)]
      if (conflicts.length > 0) throw new SettingsError(conflicts)
      planPlugins(configuration)
      return configuration
    })
  }
}

interface ConfigSource {
  readonly file: string
  /** Contents to use instead of reading the file. */
  readonly text: string | undefined
  readonly references: References
}

/** Settings used for reading secrets. */
const PLATFORM_KEYS = ['auth', 'registry', 'authId', 'authSecret'] as const

/**
 * Returns the platform settings among the inputs that are valid. Invalid ones are reported with the
 * rest of the configuration.
 */
function toValid(inputs: SettingsInput): SettingsInput {
  const valid = PLATFORM_KEYS.flatMap((key) => {
    const input = inputs.get(key)
    const isValid = input && findInvalidValues(new Map([[key, input]])).length === 0
    return isValid ? [[key, input] as const] : []
  })
  return new Map(valid)
}

/**
 * Imports the YAML library (9 MB) only if there is a file.
 *
 * @throws {SettingsError} with the problems from all sources.
 */
async function read(
  { file, text, references }: ConfigSource,
  command: ServerCommand,
  sources: SettingsInput,
  problems: readonly string[],
): Promise<ConfigFile> {
  const { parseConfig, parseSome } = await import('./parse-file.ts')
  try {
    const contents = text ?? (await readConfigText(file))
    const paths = listSecretPaths(contents)
    if (paths.length > 0) {
      const partial = parseSome(contents, file, references, PLATFORM_KEYS)
      const platform = mergeSettings(toValid(mergeInputs(sources, partial)))
      references.secrets = await fetchSecrets(paths, command, platform)
    }
    return parseConfig(contents, file, command, references)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    const all = [...problems, ...error.problems, ...findInvalidValues(sources)]
    throw new SettingsError(all, { cause: error })
  }
}

function merge(inputs: SettingsInput, command: ServerCommand): Settings {
  if (command === 'api') {
    const settings = mergeSettings(inputs)
    const problems = validatePorts(settings, inputs, command)
    if (problems.length > 0) throw new SettingsError(problems)
    return settings
  }
  const invalid = findInvalidValues(inputs)
  if (invalid.length > 0) throw new SettingsError(invalid)
  const profile = inputs.get('profile')
  const withProfile = mergeSettings(
    profile === undefined ? new Map() : new Map([['profile', profile]]),
  )
  const settings = mergeSettings(inputs, readProfile(withProfile.profile))
  const problems = validateServer(settings, inputs)
  if (problems.length > 0) throw new SettingsError(problems)
  return settings
}

/**
 * Applies the live settings of `next` to `running`, without changing the listeners. `restart` names
 * changed settings that require a restart.
 *
 * @param before previously requested configuration, whose pending changes are not reported again.
 */
export function keepFixed(
  running: Configuration,
  next: Configuration,
  before: Configuration = running,
): { configuration: Configuration; restart: readonly string[] } {
  const fixed = SETTING_KEYS.filter((key) => !SETTINGS[key].live)
  const isPending = (read: (configuration: Configuration) => unknown): boolean =>
    !isEqual(read(running), read(next)) && !isEqual(read(before), read(next))
  const hasListen = isPending(({ config }) => config.listen.map(({ at: _, ...rest }) => rest))
  const listenKeys = new Set(
    [...running.config.listen, ...next.config.listen].length > 0 ? LISTEN_KEYS : [],
  )
  const unchanged = Object.fromEntries(
    fixed.map((key) => [key, running.settings[key]]),
  ) as Partial<Settings>
  const names = fixed
    .filter(
      (key) => !(hasListen && listenKeys.has(key)) && isPending(({ settings }) => settings[key]),
    )
    .map((key) => SETTINGS[key].name)
  return {
    configuration: {
      ...next,
      settings: { ...next.settings, ...unchanged },
      config: { ...next.config, listen: running.config.listen },
    },
    restart: hasListen ? ['listen', ...names] : names,
  }
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
