import type { Service } from '../contracts/registry.ts'

/** Prefix of settings in service metadata. */
export const SETTING = 'mx/'

/** Names, without prefix, of the settings that services store in the registry. */
export const SETTING_NAMES = [
  'balance',
  'timeout.connect',
  'timeout.response',
  'timeout.idle',
  'keep_alive',
  'max_connection_age',
  'host_header',
  'policies',
] as const

/** Builds service metadata. `get` returns the text of a setting by name. */
export function toSettingMetadata(
  get: (name: string) => string | undefined,
): Record<string, string> {
  const metadata: Record<string, string> = {}
  for (const name of SETTING_NAMES) {
    const text = get(name)
    if (text !== undefined) metadata[`${SETTING}${name}`] = text
  }
  return metadata
}

/** Returns the settings in the metadata of all versions by key. The first version with a setting takes precedence. */
export function collectSettings(services: readonly Service[]): Readonly<Record<string, string>> {
  let found: Record<string, string> = NONE
  for (const { metadata } of services)
    for (const key in metadata) {
      if (!key.startsWith(SETTING) || Object.hasOwn(found, key)) continue
      if (found === NONE) found = {}
      found[key] = metadata[key]!
    }
  return found
}

const NONE: Record<string, string> = {}
