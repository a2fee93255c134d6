import type { Settings, SettingsInput } from '../settings/settings.ts'

/** A service of `services:`. */
export interface ServiceEntry {
  /** As written: one without a dot lies inside the namespace. */
  readonly name: string
  /** `host:port[;weight]` each, as in `--backend`. */
  readonly nodes: readonly string[]
  /** Its own node choice; undefined: that of the gateway. */
  readonly balance: string | undefined
  /** Its own `keep_alive` and `max_connection_age`, milliseconds; undefined: those of the gateway. */
  readonly keepAliveMs: number | undefined
  readonly maxConnectionAgeMs: number | undefined
  /** `mx.yaml:3:5`, for errors found later. */
  readonly at: string
}

/** A plugin of `plugins:`. */
export interface PluginEntry {
  /** Name, package, or file (absolute). */
  readonly specifier: string
  readonly options: unknown
  /** `mx.yaml:3:5`, for errors found later. */
  readonly at: string
}

/** What a configuration file says. */
export interface ConfigFile {
  /** Folder that relative files in it belong to. */
  readonly folder: string
  readonly settings: SettingsInput
  readonly services: readonly ServiceEntry[]
  /** Instead of the default plugins; undefined: those. */
  readonly plugins: readonly PluginEntry[] | undefined
  /** As it was read; empty: there is none. */
  readonly text: string
}

/** Where there is no file. */
export const NO_CONFIG: ConfigFile = {
  folder: process.cwd(),
  settings: new Map(),
  services: [],
  plugins: undefined,
  text: '',
}

/** What a command was told, by whomever: flags, environment, configuration file. */
export interface Configuration {
  readonly settings: Settings
  readonly config: ConfigFile
  /** What somebody set, and where; the other settings are those of the profile, or have their defaults. */
  readonly given: SettingsInput
  /** As named, or undefined when there is none. */
  readonly file: string | undefined
}
