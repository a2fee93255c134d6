import type { ServerCommand } from './setting.ts'
import { SETTINGS, type Settings, type SettingsInput } from './settings.ts'
import { validateListeners } from './validate.ts'
import { validateTls } from './validate-tls.ts'

/** Invalid settings, one problem per line. The exit status is 2. */
export class SettingsError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options)
    this.name = 'SettingsError'
    this.problems = problems
  }
}

/** Merges sources. For each setting, the first source that contains it takes precedence. */
export function mergeInputs(...sources: readonly SettingsInput[]): SettingsInput {
  return new Map(sources.toReversed().flatMap((source) => [...source]))
}

/**
 * Parses the settings returned by {@link mergeInputs}. Missing settings have their defaults.
 *
 * @throws {SettingsError} with all problems.
 */
export function mergeSettings(...sources: readonly SettingsInput[]): Settings {
  const all = mergeInputs(...sources)
  const invalid = findInvalidValues(all)
  if (invalid.length > 0) throw new SettingsError(invalid)
  const entries = SETTING_KEYS.map((key) => [
    key,
    SETTINGS[key].parse(all.get(key)?.values ?? defaultValues(key)),
  ])
  const parsed = Object.fromEntries(entries) as Settings
  const settings = parsed.enableAcme ? { ...parsed, enableTls: true } : parsed
  const problems = [...validateTls(settings, all), ...validateListeners(settings, all)]
  if (problems.length > 0) throw new SettingsError(problems)
  return settings
}

/**
 * Returns invalid values as one-line problems. Combinations are checked by {@link mergeSettings}.
 */
export function findInvalidValues(all: SettingsInput): readonly string[] {
  return SETTING_KEYS.flatMap((key) => {
    const input = all.get(key)
    try {
      if (input !== undefined) SETTINGS[key].parse(input.values)
      return []
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return [`${input!.source} ${error.message}`]
    }
  })
}

/** All keys in table order. */
export const SETTING_KEYS: readonly (keyof Settings)[] = Object.keys(SETTINGS) as (keyof Settings)[]

/** Returns the keys of a command's settings in table order. */
export function keysOf(command: ServerCommand): readonly (keyof Settings)[] {
  return SETTING_KEYS.filter((key) => (SETTINGS[key].only ?? command) === command)
}

/** Returns the reason why a command does not have a setting, or undefined if it has it. */
export function explainOtherSource(
  key: keyof Settings,
  command: ServerCommand,
): string | undefined {
  const { only = command } = SETTINGS[key]
  return only === command ? undefined : `it is a setting of mx ${only}, not of mx ${command}`
}

/** Returns the key of a setting by its flag name, in which `-` and `_` are equivalent. */
export function findSetting(name: string): keyof Settings | undefined {
  return KEYS_BY_NAME.get(name.replaceAll('-', '_'))
}

/** Splits a list that is written as a single text. */
export function splitList(key: keyof Settings, text: string): readonly string[] {
  const parts = text.split(SETTINGS[key].separator ?? ',').map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

const KEYS_BY_NAME = new Map(SETTING_KEYS.map((key) => [SETTINGS[key].name, key]))

function defaultValues(key: keyof Settings): readonly string[] {
  const setting = SETTINGS[key]
  return setting.kind === 'list' ? splitList(key, setting.default) : [setting.default]
}
