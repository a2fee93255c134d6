import type { Store } from '../../../domain/store/store.ts'
import { changeSecretKey, readKeyNote, tidy } from './rotate-key.ts'
import { parseSecretKey, type SecretKey } from './secret-key.ts'
import { createSecretKeyFile, readSecretKeyFile } from './secret-key-file.ts'

/** Source of the key that encrypts secrets of the configuration. */
export interface SecretKeyOptions {
  /** Store of the configuration. */
  readonly store: Store
  /** The key: 32 bytes in base64. Takes precedence over `file`. */
  readonly key?: string
  /** Previous key, in the same format: its secrets are re-encrypted. */
  readonly previousKey?: string
  /** File with the key, created if missing. Only for a store with a single server: others would create different keys. */
  readonly file?: string
}

// Names of the settings in errors.
const SETTING = 'MX_CONFIG_SECRET_KEY or --config_secret_key'
const PREVIOUS = 'MX_CONFIG_SECRET_KEY_PREVIOUS or --config_secret_key_previous'

/**
 * Opens the key of secrets and verifies that it is the key of the store. Call it once, before creating the service.
 *
 * @returns undefined if neither key, file nor secrets exist, and no secret can be written.
 * @throws {Error} one line, without changing anything: malformed or wrong key, unusable or unprotected file, no key for
 * existing secrets. 503 if the store is unavailable.
 */
export async function openSecretKey(options: SecretKeyOptions): Promise<SecretKey | undefined> {
  const { store, key, previousKey, file } = options
  const configured = key === undefined ? undefined : parseSecretKey(key, SETTING)
  const previous = previousKey === undefined ? undefined : parseSecretKey(previousKey, PREVIOUS)
  const secretKey = configured ?? (file === undefined ? undefined : readSecretKeyFile(file))
  const note = await readKeyNote(store)
  if (secretKey === undefined) {
    if (note !== undefined) throw new Error(toMissing(file))
    return file === undefined ? undefined : createSecretKeyFile(file)
  }
  if (note !== undefined && note.keyId !== secretKey.id) {
    if (note.keyId !== previous?.id)
      throw new Error(toWrong(configured ? SETTING : file!, previous))
    await changeSecretKey({ store, from: previous, to: secretKey })
  } else await tidy(store)
  return secretKey
}

function toMissing(file: string | undefined): string {
  const places = file === undefined ? SETTING : `${SETTING}, or ${file}`
  return `the configuration contains secrets, but their encryption key is missing: set ${places}`
}

function toWrong(place: string, previous: SecretKey | undefined): string {
  const keys =
    previous === undefined
      ? `the key in ${place} does not match`
      : `neither the key in ${place} nor the key in ${PREVIOUS} matches`
  return `${keys} the key that encrypted the configuration secrets; nothing was changed`
}
