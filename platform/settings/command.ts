import { PROFILES } from '../profiles.ts'
import type { ServerCommand, Setting } from './setting.ts'
import { SETTINGS, type SettingInput, type Settings, type SettingsInput } from './settings.ts'
import { keysOf, splitList } from './sources.ts'
import type { ProfileName } from './table/process.ts'

/**
 * Returns the settings of a command in table order. For `mx server`, they have the defaults of the `local` profile.
 */
export function listSettings(command: ServerCommand): readonly Setting<unknown>[] {
  return keysOf(command).map((key) => {
    const { inServer, ...setting } = SETTINGS[key]
    if (command === 'api') return setting
    const standard = PROFILES.local.settings[key]
    return { ...setting, ...inServer, ...(standard !== undefined && { default: standard }) }
  })
}

/** Returns the defaults of `mx server` with a profile. */
export function readProfile(name: ProfileName): SettingsInput {
  const inputs = new Map<keyof Settings, SettingInput>()
  for (const key of keysOf('server')) {
    const { kind, inServer } = SETTINGS[key]
    const text = PROFILES[name].settings[key] ?? inServer?.default
    if (text === undefined) continue
    const values = kind === 'list' ? splitList(key, text) : [text]
    inputs.set(key, { source: `profile ${name}: ${SETTINGS[key].name}`, values })
  }
  return inputs
}
