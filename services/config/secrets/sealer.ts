import { internal, notImplemented, unavailable } from '../../../sdk/errors.ts'
import type { Sealer } from '../tree/merge.ts'
import { formatPath } from '../tree/path.ts'
import type { SecretKey } from './secret-key.ts'

export interface SealerOptions {
  readonly namespace: string
  /** Undefined: secrets can be neither encrypted nor decrypted. */
  readonly secretKey: SecretKey | undefined
  /** Id of the key the namespace's secrets are encrypted with; undefined: it never had any. */
  readonly keyId: string | undefined
  /** Of errors. */
  readonly id: string
}

/**
 * Encrypts and decrypts the secrets of a namespace: 501 without a key, 503 when others went over to another key, 500 for
 * what was not encrypted for its place.
 */
export function createSealer({ namespace, secretKey, keyId, id }: SealerOptions): Sealer {
  function toKey(): SecretKey {
    if (secretKey === undefined)
      throw notImplemented(id, 'secrets need a key: the config secret key is not set')
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
        `the secret ${path} of ${namespace} cannot be decrypted: it was changed, or is of another place`,
      )
    },
  }
}

/** The key was changed by somebody else while this process ran. */
export function otherKey(id: string): Error {
  return unavailable(
    id,
    'the secrets are encrypted with another key by now: start again with that key',
  )
}
