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
import { type ConfigFile, type Configuration, NO_CONFIG } from './types.ts'

/** Used when it lies in the working folder and no other is named. */
const DEFAULT_FILE = 'mx.yaml'

/**
 * Reads everything again. Flags win over the environment, that over the file, that over the profile, that over defaults.
 *
 * @param text what the file is taken to hold, which is not read then; empty: there is none.
 */
export type LoadConfiguration = (text?: string) => Promise<Configuration>

/**
 * Prepares {@link LoadConfiguration}, which is called at the start and at every reload.
 *
 * @param problems of the flags: told with those of everything else.
 * @throws {SettingsError} (the function it returns) naming every problem and where it stands.
 */
export function configurationFrom(
  flags: SettingsInput,
  env: NodeJS.ProcessEnv,
  command: ServerCommand = 'api',
  problems: readonly string[] = [],
): LoadConfiguration {
  const environment = readEnvironment(env, command)
  const named = (flags.get('config') ?? environment.get('config'))?.values[0]
  // Once used it is required: a file that vanishes is an accident, not the wish to serve nothing.
  let file = named
  return async (text) => {
    // A link whose target is missing is a mistake, not the absence of a file.
    if (text === undefined && lstatSync(DEFAULT_FILE, { throwIfNoEntry: false }) !== undefined)
      file ??= DEFAULT_FILE
    const others = mergeInputs(flags, environment)
    const config =
      file === undefined || text === ''
        ? NO_CONFIG
        : await read({ file, text }, command, others, problems)
    const given = mergeInputs(flags, environment, config.settings)
    if (problems.length > 0) throw new SettingsError([...problems, ...findInvalidValues(given)])
    const configuration = { settings: merge(given, command), config, given, file }
    planPlugins(configuration)
    return configuration
  }
}

/**
 * With the YAML library, which costs 9 MB, loaded by those only who have a file.
 *
 * @throws {SettingsError} naming what is wrong with the values of other sources, too.
 */
async function read(
  { file, text }: { readonly file: string; readonly text: string | undefined },
  command: ServerCommand,
  others: SettingsInput,
  problems: readonly string[],
): Promise<ConfigFile> {
  const { parseConfig, readConfig } = await import('./parse-file.ts')
  try {
    return text === undefined ? await readConfig(file, command) : parseConfig(text, file, command)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    const all = [...problems, ...error.problems, ...findInvalidValues(others)]
    throw new SettingsError(all, { cause: error })
  }
}

function merge(given: SettingsInput, command: ServerCommand): Settings {
  if (command === 'api') {
    const settings = mergeSettings(given)
    const problems = validatePorts(settings, given, command)
    if (problems.length > 0) throw new SettingsError(problems)
    return settings
  }
  const wrong = findInvalidValues(given)
  if (wrong.length > 0) throw new SettingsError(wrong)
  const profile = given.get('profile')
  const named = mergeSettings(profile === undefined ? new Map() : new Map([['profile', profile]]))
  const settings = mergeSettings(given, readProfile(named.profile))
  const problems = validateServer(settings, given)
  if (problems.length > 0) throw new SettingsError(problems)
  return settings
}

/**
 * `next` as far as it can replace `running` without a restart, and the names of the settings that cannot.
 *
 * @param before what was asked for last: what it already asked for in vain is not named again.
 */
export function keepFixed(
  running: Settings,
  next: Settings,
  before: Settings = running,
): { settings: Settings; restart: readonly string[] } {
  const fixed = SETTING_KEYS.filter((key) => !SETTINGS[key].live)
  const isWaiting = (key: keyof Settings): boolean =>
    !isEqual(running[key], next[key]) && !isEqual(before[key], next[key])
  const kept = Object.fromEntries(fixed.map((key) => [key, running[key]])) as Partial<Settings>
  const restart = fixed.filter(isWaiting).map((key) => SETTINGS[key].name)
  return { settings: { ...next, ...kept }, restart }
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
