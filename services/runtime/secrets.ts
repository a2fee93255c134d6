import { badRequest } from '../../sdk/errors.ts'

/** Encrypts what nobody may read in the store, for its place. */
export interface Sealer {
  readonly seal: (namespace: string, path: string, text: string) => string
  /** Undefined: it was sealed with another key, or for another place. */
  readonly open: (namespace: string, path: string, sealed: string) => string | undefined
}

/** What is kept of the secrets of an object. */
export interface Secrets {
  /** Whether anything can be kept. */
  readonly canKeep: boolean
  /**
   * A text as the store may have it; of an empty one, nothing.
   *
   * @param what it is, for the error.
   * @throws {GatewayError} 400 without a key.
   */
  readonly seal: (place: SecretPlace, text: string) => string
  /** Whether it can be read still. */
  readonly canOpen: (place: SecretPlace, sealed: string) => boolean
  /** @throws {Error} in one line when it cannot be read any more. */
  readonly open: (place: SecretPlace, sealed: string) => string
}

/** Which secret of an object. */
export interface SecretPlace {
  readonly namespace: string
  /** As of `toObjectKey`. */
  readonly key: string
  readonly what: 'secrets' | 'credentials' | 'account'
}

export function createSecrets(sealer: Sealer | undefined): Secrets {
  const toPath = ({ key, what }: SecretPlace): string => `runtime/${key}/${what}`
  const find = (place: SecretPlace, sealed: string): string | undefined =>
    sealed === '' ? '' : sealer?.open(place.namespace, toPath(place), sealed)
  return {
    canKeep: sealer !== undefined,
    canOpen: (place, sealed) => find(place, sealed) !== undefined,

    seal(place, text) {
      if (text === '') return ''
      if (sealer !== undefined) return sealer.seal(place.namespace, toPath(place), text)
      throw badRequest(
        'runtime',
        `request.options.${place.what} cannot be kept: the server has no config_secret_key to encrypt it with`,
      )
    },

    open(place, sealed) {
      const text = find(place, sealed)
      if (text !== undefined) return text
      throw new Error(
        `the ${place.what} cannot be decrypted: config_secret_key is not the one they were encrypted with; update the service with new ones`,
      )
    },
  }
}
