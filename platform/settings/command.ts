import { isWildcardHost } from '../../core/http/wildcard-host.ts'
import { PROFILES, type ProfileName } from '../profiles.ts'
import { type Command, SETTINGS, type Setting, type Settings } from './settings.ts'
import { keysOf, type SettingInput, type SettingsInput, splitList } from './sources.ts'
import { type Address, formatAddress } from './values.ts'

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
export function readProfile(name: ProfileName): SettingsInput {
  const given = new Map<keyof Settings, SettingInput>()
  for (const key of keysOf('server')) {
    const { kind, inServer } = SETTINGS[key]
    const text = PROFILES[name].settings[key] ?? inServer?.default
    if (text === undefined) continue
    const values = kind === 'list' ? splitList(key, text) : [text]
    given.set(key, { source: `profile ${name}: ${SETTINGS[key].name}`, values })
  }
  return given
}

/** What is wrong with settings of `mx server` that are right each by itself, a line each. */
export function checkServer(settings: Settings, given: SettingsInput): readonly string[] {
  const problems: string[] = []
  const sourceOf = (key: keyof Settings): string => given.get(key)?.source ?? SETTINGS[key].name
  const { registry, store, configSecretKey } = settings
  if (registry === 'static' || /^mxs?:/.test(registry))
    problems.push(
      `${sourceOf('registry')} must be memory, consul://host:port, consuls://host:port or kubernetes, got ${JSON.stringify(registry)}: mx server is a registry itself, and mx:// is for services and for mx api`,
    )
  if (configSecretKey === 'memory' && store !== 'memory')
    problems.push(
      `${sourceOf('configSecretKey')} must not be memory where the store is kept (${sourceOf('store')}): nobody could read its secrets after a restart; use file for one server, or a key for several`,
    )
  return [...problems, ...checkPorts(settings, given, 'server')]
}

/** Addresses of a command that cannot all be listened at, a line each. */
export function checkPorts(
  settings: Settings,
  given: SettingsInput,
  command: Command,
): readonly string[] {
  const sourceOf = (key: keyof Settings): string => given.get(key)?.source ?? SETTINGS[key].name
  const keys = (['address', 'http2Address', 'proxyAddress', 'webAddress', 'adminAddress'] as const)
    .filter((key) => (SETTINGS[key].only ?? command) === command)
    // A default admin address that is in use is not opened (platform/admin/open-admin.ts).
    .filter((key) => key !== 'adminAddress' || given.has(key))
  return keys.flatMap((key, i) =>
    keys.slice(0, i).flatMap((other) => {
      const [address, taken] = [settings[key], settings[other]]
      return address !== undefined && taken !== undefined && isSamePort(address, taken)
        ? `${sourceOf(key)} must be another address than ${SETTINGS[other].name}, got ${formatAddress(address)}`
        : []
    }),
  )
}

/** Whether two addresses cannot be listened at both. */
export function isSamePort(a: Address, b: Address): boolean {
  const isSameHost = a.host === b.host || isWildcardHost(a.host) || isWildcardHost(b.host)
  return a.port !== 0 && a.port === b.port && isSameHost
}
