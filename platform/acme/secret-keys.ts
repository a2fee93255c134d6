import { parseSecretKey, type SecretKey } from '../../services/config/secrets/secret-key.ts'
import { SETTINGS, type Settings } from '../settings/settings.ts'
import type { SecretKeys } from './records.ts'

/**
 * What encrypts private keys, and what did until now.
 *
 * @param found the key of this server, which may come from a file. @default the one that was given
 */
export function readSecretKeys(
  { configSecretKey, configSecretKeyPrevious }: Settings,
  found: SecretKey | undefined = parse(configSecretKey, SETTINGS.configSecretKey.name),
): SecretKeys {
  const previous = parse(configSecretKeyPrevious, SETTINGS.configSecretKeyPrevious.name)
  return [found, previous].filter((key) => key !== undefined)
}

function parse(text: string, name: string): SecretKey | undefined {
  return text === '' || text === 'file' || text === 'memory'
    ? undefined
    : parseSecretKey(text, name)
}
