import { internal, notImplemented, unavailable } from '../../../sdk/errors.ts'
import type { Sealer } from '../tree/merge.ts'
import { formatPath } from '../tree/path.ts'
import type { SecretKey } from './secret-key.ts'

export interface SealerOptions {
  readonly namespace: string
  /** If undefined, secrets cannot be encrypted or decrypted. */
  readonly secretKey: SecretKey | undefined
  /** Id of the key of the namespace's secrets; undefined if it has never had secrets. */
  readonly keyId: string | undefined
  /** Id used in errors. */
  readonly id: string
}

/**
 * Encrypts and decrypts the secrets of a namespace. Fails with 501 if there is no key, with 503 if
 * another process has rotated the key, and with 500 for a secret that belongs to another path.
 */
export function createSealer({ namespace, secretKey, keyId, id }: SealerOptions): Sealer {
  function toKey(): SecretKey {
    if (secretKey === undefined)
      throw notImplemented(id, 'secrets cannot be stored: config_secret_key is not set')
    if (keyId !== undefined && keyId !== secretKey.id) throw otherKey(id)
    return secretKey
  }
  return {
    seal: (names, text) => toKey().seal(namespace, formatPath(names), text),
    open(names, sealed) {
      const path = formatPath(names)
      const text = toKey().open(namespace, path, sealed)
      if (text !== undefined) return text
      throw internal(
        id,
        `the secret ${path} of ${namespace} cannot be decrypted: it was modified or belongs to another path`,
      )
    },
  }
}

/** Returns the error for a key that another process has rotated while this one was running. */
export function otherKey(id: string): Error {
  return unavailable(id, 'the secrets are now encrypted with another key; restart with that key')
}
