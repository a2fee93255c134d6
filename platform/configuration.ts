import { existsSync } from 'node:fs'
import { type ConfigFile, NO_CONFIG } from './config.ts'
import { SETTINGS, type Settings } from './settings.ts'
import { readEnvironment } from './settings-env.ts'
import { type GivenSettings, mergeSettings, SETTING_KEYS } from './settings-sources.ts'

/** Used when it lies in the working folder and no other is named. */
const DEFAULT_FILE = 'mx.yaml'

/** What the gateway was told, by whomever: flags, environment, configuration file. */
export interface Configuration {
  readonly settings: Settings
  readonly config: ConfigFile
  /** As named, or undefined when there is none. */
  readonly file: string | undefined
}

/** Reads everything again. Flags win over the environment, that over the file, that over defaults. */
export type LoadConfiguration = () => Promise<Configuration>

/**
 * Prepares {@link LoadConfiguration}, which is called at the start and at every reload.
 *
 * @throws {SettingsError} (the function it returns) naming every problem and where it stands.
 */
export function configurationFrom(flags: GivenSettings, env: NodeJS.ProcessEnv): LoadConfiguration {
  return async () => {
    const environment = readEnvironment(env)
    const named = (flags.get('config') ?? environment.get('config'))?.values[0]
    const file = named ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : undefined)
    const config = file === undefined ? NO_CONFIG : await read(file)
    return { settings: mergeSettings(flags, environment, config.settings), config, file }
  }
}

/** With the YAML library, which costs 9 MB, loaded by those only who have a file. */
async function read(file: string): Promise<ConfigFile> {
  const { readConfig } = await import('./config-file.ts')
  return readConfig(file)
}

/**
 * `next` as far as it can replace `running` without a restart, and the names of the settings that cannot.
 */
export function keepFixed(
  running: Settings,
  next: Settings,
): { settings: Settings; restart: readonly string[] } {
  const fixed = SETTING_KEYS.filter((key) => !SETTINGS[key].live)
  const changed = fixed.filter((key) => JSON.stringify(running[key]) !== JSON.stringify(next[key]))
  const kept = Object.fromEntries(fixed.map((key) => [key, running[key]])) as Partial<Settings>
  return { settings: { ...next, ...kept }, restart: changed.map((key) => SETTINGS[key].name) }
}
