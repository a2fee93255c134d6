import { type Environment, findMisspeltVariables } from '../core/misspelt-variables.ts'
import { type Command, SETTINGS, type Settings } from './settings.ts'
import {
  type Given,
  type GivenSettings,
  keysOf,
  SETTING_KEYS,
  splitList,
} from './settings-sources.ts'

/**
 * Settings of a command from environment variables: `MX_API_<NAME>`, which only the gateway reads, before `MX_<NAME>`.
 * An empty variable counts as unset; a single blank does not (specification: Namespace).
 */
export function readEnvironment(env: Environment, command: Command = 'api'): GivenSettings {
  const given = new Map<keyof Settings, Given>()
  for (const key of keysOf(command)) {
    const { name, kind, only } = SETTINGS[key]
    const own = only === 'server' ? [] : [`MX_API_${name.toUpperCase()}`]
    const variable = [...own, `MX_${name.toUpperCase()}`].find((each) => (env[each] ?? '') !== '')
    if (variable === undefined) continue
    const text = env[variable]!
    given.set(key, { source: variable, values: kind === 'list' ? splitList(key, text) : [text] })
  }
  return given
}

/** What is wrong with variables that look like a misspelt setting, of whichever command, one line each. */
export function findMisspelt(env: Environment): readonly string[] {
  const names = SETTING_KEYS.map((key) => SETTINGS[key].name.toUpperCase())
  return findMisspeltVariables(env, names, /^MX_(?:API_)?/)
}
