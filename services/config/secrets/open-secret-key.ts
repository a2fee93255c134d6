import type { Store } from '../../../domain/store/store.ts'
import { changeSecretKey, readKeyNote, tidy } from './rotate-key.ts'
import { parseSecretKey, type SecretKey } from './secret-key.ts'
import { createSecretKeyFile, readSecretKeyFile } from './secret-key-file.ts'

/** Source of the key that encrypts secrets in the configuration. */
export interface SecretKeyOptions {
  /** Store of the configuration. */
  readonly store: Store
  /** Key as 32 bytes in base64. It takes precedence over `file`. */
  readonly key?: string
  /** Previous key in the same format. Secrets encrypted with it are re-encrypted. */
  readonly previousKey?: string
  /**
   * File with the key, which is created if missing. Only for a store used by a single server: other
   * servers would create different keys.
   */
  readonly file?: string
}

// Names of the settings, for error messages.
const SETTING = 'MX_CONFIG_SECRET_KEY or --config_secret_key'
const PREVIOUS = 'MX_CONFIG_SECRET_KEY_PREVIOUS or --config_secret_key_previous'

/**
 * Opens the key of secrets and verifies that it is the key of the store. It must be called once,
 * before creating the service.
 *
 * @returns undefined if there are neither keys, files nor secrets. No secret can be written in this
 * case.
 * @throws {Error} with a one-line message, without changing anything: malformed or wrong key,
 * unusable or unprotected file, or no key for existing secrets. 503 if the store is unavailable.
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
      throw new Error(toWrongKeyMessage(configured ? SETTING : file!, previous))
    await changeSecretKey({ store, from: previous, to: secretKey })
  } else await tidy(store)
  return secretKey
}

function toMissing(file: string | undefined): string {
  const sources = file === undefined ? SETTING : `${SETTING}, or ${file}`
  return `the configuration contains secrets, but their encryption key is missing: set ${sources}`
}

function toWrongKeyMessage(source: string, previous: SecretKey | undefined): string {
  const keys =
    previous === undefined
      ? `the key in ${source} does not match`
      : `neither the key in ${source} nor the key in ${PREVIOUS} matches`
  return `${keys} the key that encrypted the configuration secrets; nothing was changed`
}
