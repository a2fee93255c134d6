import { type Environment, findUnknownEnv } from '../../lib/config/unknown-env.ts'
import type { ServerCommand } from './setting.ts'
import { SETTINGS, type SettingInput, type Settings, type SettingsInput } from './settings.ts'
import { findSetting, keysOf, SETTING_KEYS, splitList } from './sources.ts'

const PART = /^MX_(?:API_|SERVER_)?(AUTH|BROKER|EVENTS|REGISTRY|STORE)_(ADDRESS|TLS_[A-Z]+)$/

/**
 * Reads the settings of a command from environment variables. `MX_SERVER_<NAME>`, read only by `mx
 * server`, takes precedence over `MX_API_<NAME>`, read only by the gateway, which takes precedence
 * over `MX_<NAME>`. An empty variable counts as unset; a single space does not (specification:
 * Namespace).
 */
export function readEnvironment(env: Environment, command: ServerCommand = 'api'): SettingsInput {
  const inputs = new Map<keyof Settings, SettingInput>()
  for (const key of keysOf(command)) {
    const { name, kind, only, variable: other } = SETTINGS[key]
    const prefixes = [
      ...(command === 'server' ? ['MX_SERVER_'] : []),
      ...(only === 'server' ? [] : ['MX_API_']),
      'MX_',
    ]
    const variables = prefixes.map((prefix) => `${prefix}${name.toUpperCase()}`)
    if (other !== undefined) variables.push(other)
    const variable = variables.find((each) => (env[each] ?? '') !== '')
    if (variable === undefined) continue
    const text = env[variable]!
    inputs.set(key, { source: variable, values: kind === 'list' ? splitList(key, text) : [text] })
  }
  return inputs
}

/** Returns one-line problems with variables that look like misspelt settings of any command. */
export function findMisspelt(env: Environment): readonly string[] {
  const names = SETTING_KEYS.flatMap((key) => {
    const { name, variable } = SETTINGS[key]
    return [name.toUpperCase(), ...(variable === undefined ? [] : [variable.slice('MX_'.length)])]
  })
  // MX_SERVER_ID is the variable of the `server_id` setting.
  const unknown = Object.keys(env).filter((variable) => !names.includes(variable.slice(3)))
  const parts = unknown.flatMap((variable) => explainPart(variable) ?? [])
  const unexplained = unknown.filter((variable) => explainPart(variable) === undefined)
  const inputs = Object.fromEntries(unexplained.map((variable) => [variable, env[variable]]))
  return [...parts, ...findUnknownEnv(inputs, names, /^MX_(?:API_|SERVER_)?/)]
}

/**
 * Explains a variable that is only part of another variable's value. Returns undefined for other
 * variables.
 */
function explainPart(variable: string): string | undefined {
  const [, setting, part] = PART.exec(variable) ?? []
  const key = setting && findSetting(setting.toLowerCase())
  if (!key) return undefined
  const subject = part === 'ADDRESS' ? 'the address is' : 'certificates and keys are'
  return `unknown variable ${variable}: ${subject} part of MX_${setting} (${SETTINGS[key].placeholder})`
}
