import type { Settings, SettingsInput } from '../settings/settings.ts'

/** A service of `services:`. */
export interface ConfiguredService {
  /** As in the file; without a dot it is relative to the namespace. */
  readonly name: string
  /** `host:port[;weight]`, as in `--backend`. */
  readonly nodes: readonly string[]
  /** Override of `balance`. */
  readonly balance: string | undefined
  /** Overrides of `keep_alive` and `max_connection_age`, milliseconds. */
  readonly keepAliveMs: number | undefined
  readonly maxConnectionAgeMs: number | undefined
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** A plugin of `plugins:`. */
export interface PluginEntry {
  /** Name, package, or file (absolute). */
  readonly specifier: string
  readonly options: unknown
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** Parsed configuration file. */
export interface ConfigFile {
  /** Base folder of relative paths. */
  readonly folder: string
  readonly settings: SettingsInput
  readonly services: readonly ConfiguredService[]
  /** Replaces the default plugins; undefined to use them. */
  readonly plugins: readonly PluginEntry[] | undefined
  /** Contents of the file; empty without one. */
  readonly text: string
}

export const NO_CONFIG: ConfigFile = {
  folder: process.cwd(),
  settings: new Map(),
  services: [],
  plugins: undefined,
  text: '',
}

/** Merged configuration of a command: flags, environment, configuration file. */
export interface Configuration {
  readonly settings: Settings
  readonly config: ConfigFile
  /** Explicitly set values and their sources; other settings come from the profile or have their defaults. */
  readonly inputs: SettingsInput
  /** Path of the configuration file; undefined without one. */
  readonly file: string | undefined
}
