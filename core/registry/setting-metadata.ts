import type { Service } from '../contracts/registry.ts'

/** Prefix of settings in the metadata of a service. */
export const SETTING = 'mx/'

/** Names of the settings that services set in the registry, without the prefix. */
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

/** Metadata of a service, from the text that `get` returns for the name of a setting. */
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

/** Settings in the metadata of all versions by their keys; of the first version that has one. */
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
