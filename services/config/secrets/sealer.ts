import { internal, notImplemented, unavailable } from '../../../sdk/errors.ts'
import type { Sealer } from '../tree/merge.ts'
import { formatPath } from '../tree/path.ts'
import type { SecretKey } from './secret-key.ts'

export interface SealerOptions {
  readonly namespace: string
  /** Undefined: secrets cannot be encrypted or decrypted. */
  readonly secretKey: SecretKey | undefined
  /** Id of the key of the namespace's secrets; undefined: it never had any. */
  readonly keyId: string | undefined
  /** Id of errors. */
  readonly id: string
}

/**
 * Encrypts and decrypts the secrets of a namespace: 501 without a key, 503 if another process rotated the key, 500 for a
 * secret of another path.
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
        `the secret ${path} of ${namespace} cannot be decrypted: it was modified, or belongs to another path`,
      )
    },
  }
}

/** Another process rotated the key while this one was running. */
export function otherKey(id: string): Error {
  return unavailable(id, 'the secrets are now encrypted with another key: restart with that key')
}
