import { checkTls } from '../tls/check.ts'
import { checkListening } from './listening.ts'
import { type Command, SETTINGS, type Settings } from './settings.ts'

/** A setting as somebody wrote it. */
export interface SettingInput {
  /** How errors call it: `--workers`, `MX_WORKERS`, `mx.yaml:3:1: workers`. */
  readonly source: string
  /** One element for `text` and `switch`. */
  readonly values: readonly string[]
}

/** What one source (flags, environment, file) gives. */
export type SettingsInput = ReadonlyMap<keyof Settings, SettingInput>

/** Bad input of whoever starts the gateway, one problem a line. Exit status 2. */
export class SettingsError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options)
    this.name = 'SettingsError'
    this.problems = problems
  }
}

/** What `sources` give together: of each setting, the first source that names it wins. */
export function mergeInputs(...sources: readonly SettingsInput[]): SettingsInput {
  return new Map(sources.toReversed().flatMap((source) => [...source]))
}

/**
 * The settings that `sources` give together, as {@link mergeInputs}; the others have their defaults.
 *
 * @throws {SettingsError} with every problem at once.
 */
export function mergeSettings(...sources: readonly SettingsInput[]): Settings {
  const all = mergeInputs(...sources)
  const wrong = findWrongValues(all)
  if (wrong.length > 0) throw new SettingsError(wrong)
  const parsed = SETTING_KEYS.map((key) => [
    key,
    SETTINGS[key].parse(all.get(key)?.values ?? defaultValues(key)),
  ])
  const asked = Object.fromEntries(parsed) as Settings
  const settings = asked.enableAcme ? { ...asked, enableTls: true } : asked
  const problems = [...checkTls(settings, all), ...checkListening(settings, all)]
  if (problems.length > 0) throw new SettingsError(problems)
  return settings
}

/** What is wrong with single values, a line each. What goes together is for {@link mergeSettings}. */
export function findWrongValues(all: SettingsInput): readonly string[] {
  return SETTING_KEYS.flatMap((key) => {
    const given = all.get(key)
    try {
      if (given !== undefined) SETTINGS[key].parse(given.values)
      return []
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return [`${given!.source} ${error.message}`]
    }
  })
}

/** All keys, in table order. */
export const SETTING_KEYS: readonly (keyof Settings)[] = Object.keys(SETTINGS) as (keyof Settings)[]

/** The keys of the settings a command has, in table order. */
export function keysOf(command: Command): readonly (keyof Settings)[] {
  return SETTING_KEYS.filter((key) => (SETTINGS[key].only ?? command) === command)
}

/** Why a command has no such setting; undefined: it has it. */
export function explainElsewhere(key: keyof Settings, command: Command): string | undefined {
  const { only = command } = SETTINGS[key]
  return only === command ? undefined : `it is a setting of mx ${only}, not of mx ${command}`
}

/** The key of a setting by its flag name, in which `-` and `_` are the same. */
export function findSetting(name: string): keyof Settings | undefined {
  return KEYS_BY_NAME.get(name.replaceAll('-', '_'))
}

/** Parts a list written as one text. */
export function splitList(key: keyof Settings, text: string): readonly string[] {
  const parts = text.split(SETTINGS[key].separator ?? ',').map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

const KEYS_BY_NAME = new Map(SETTING_KEYS.map((key) => [SETTINGS[key].name, key]))

function defaultValues(key: keyof Settings): readonly string[] {
  const setting = SETTINGS[key]
  return setting.kind === 'list' ? splitList(key, setting.default) : [setting.default]
}
