import { parseSecretKey, type SecretKey } from '../../services/config/secrets/secret-key.ts'
import { SETTINGS, type Settings } from '../settings/settings.ts'
import type { SecretKeys } from './records.ts'

/**
 * Returns the secret keys for private keys in the store: the current and the previous one.
 *
 * @param current key of this server, which may be read from a file. @default the key in the settings
 */
export function readSecretKeys(
  { configSecretKey, configSecretKeyPrevious }: Settings,
  current: SecretKey | undefined = parse(configSecretKey, SETTINGS.configSecretKey.name),
): SecretKeys {
  const previous = parse(configSecretKeyPrevious, SETTINGS.configSecretKeyPrevious.name)
  return [current, previous].filter((key) => key !== undefined)
}

function parse(text: string, name: string): SecretKey | undefined {
  return text === '' || text === 'file' || text === 'memory'
    ? undefined
    : parseSecretKey(text, name)
}
