import { PROFILES, type ProfileName } from './profiles.ts'
import { type Command, SETTINGS, type Setting, type Settings } from './settings.ts'
import { type Given, type GivenSettings, keysOf, splitList } from './settings-sources.ts'

/** The settings of a command as it has them, in table order; of `mx server` with the defaults of the profile `local`. */
export function listSettings(command: Command): readonly Setting<unknown>[] {
  return keysOf(command).map((key) => {
    const { inServer, ...setting } = SETTINGS[key]
    if (command === 'api') return setting
    const standard = PROFILES.local.settings[key]
    return { ...setting, ...inServer, ...(standard !== undefined && { default: standard }) }
  })
}

/** What `mx server` is told by its profile, and by itself, where nobody says anything. */
export function readProfile(name: ProfileName): GivenSettings {
  const given = new Map<keyof Settings, Given>()
  for (const key of keysOf('server')) {
    const { kind, inServer } = SETTINGS[key]
    const text = PROFILES[name].settings[key] ?? inServer?.default
    if (text === undefined) continue
    const values = kind === 'list' ? splitList(key, text) : [text]
    given.set(key, { source: `profile ${name}: ${SETTINGS[key].name}`, values })
  }
  return given
}
