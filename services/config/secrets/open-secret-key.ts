import type { Store } from '../../../domain/store/store.ts'
import { changeSecretKey, readKeyNote, tidy } from './rotate-key.ts'
import { parseSecretKey, type SecretKey } from './secret-key.ts'
import { createSecretKeyFile, readSecretKeyFile } from './secret-key-file.ts'

/** Where the key is that secrets of the configuration are encrypted with. */
export interface SecretKeyOptions {
  /** What the configuration stands on. */
  readonly store: Store
  /** The key: 32 bytes in base64. Goes before `file`. */
  readonly key?: string
  /** The key there was until now, as `key`: secrets encrypted with it are encrypted anew. */
  readonly previousKey?: string
  /** File that holds the key, and is made where there is none. Only for stores one server uses: others would make keys of their own. */
  readonly file?: string
}

/** Where a key may come from, as errors say it. */
const SETTING = 'MX_CONFIG_SECRET_KEY or --config_secret_key'
const PREVIOUS = 'MX_CONFIG_SECRET_KEY_PREVIOUS or --config_secret_key_previous'

/**
 * Finds the key for secrets and makes sure that it is the one those in the store are encrypted with. To be called once, before the
 * service is made that gets the key.
 *
 * @returns undefined when there is neither a key nor a file for one, nor any secret: then none can be written.
 * @throws {Error} in one line, nothing being changed: a key that is none, a file that cannot be used or that others may read, the
 * wrong key, no key at all for secrets there are. 503 when the store cannot be reached.
 */
export async function openSecretKey(options: SecretKeyOptions): Promise<SecretKey | undefined> {
  const { store, key, previousKey, file } = options
  const given = key === undefined ? undefined : parseSecretKey(key, SETTING)
  const previous = previousKey === undefined ? undefined : parseSecretKey(previousKey, PREVIOUS)
  const found = given ?? (file === undefined ? undefined : readSecretKeyFile(file))
  const note = await readKeyNote(store)
  if (found === undefined) {
    if (note !== undefined) throw new Error(tellMissing(file))
    return file === undefined ? undefined : createSecretKeyFile(file)
  }
  if (note !== undefined && note.keyId !== found.id) {
    if (note.keyId !== previous?.id) throw new Error(tellWrong(given ? SETTING : file!, previous))
    await changeSecretKey({ store, from: previous, to: found })
  } else await tidy(store)
  return found
}

function tellMissing(file: string | undefined): string {
  const places = file === undefined ? SETTING : `${SETTING}, or ${file}`
  return `the configuration has secrets, and their key is missing: give it by ${places}`
}

function tellWrong(place: string, previous: SecretKey | undefined): string {
  const keys =
    previous === undefined
      ? `the key of ${place} is not the one`
      : `neither the key of ${place} nor that of ${PREVIOUS} is the one`
  return `${keys} the secrets of the configuration are encrypted with; nothing was changed`
}
