import { badRequest } from '../../sdk/errors.ts'

/** Encrypts secrets, bound to the path at which they are stored. */
export interface Sealer {
  readonly seal: (namespace: string, path: string, text: string) => string
  /** Returns undefined if the text was encrypted with another key or for another path. */
  readonly open: (namespace: string, path: string, sealed: string) => string | undefined
}

/** Secrets of objects. */
export interface Secrets {
  /** Whether a key is configured. */
  readonly canStore: boolean
  /**
   * Encrypts a text for the store. An empty text remains empty.
   *
   * @throws {GatewayError} 400 with the name of the option if there is no key.
   */
  readonly seal: (location: SecretPlace, text: string) => string
  readonly canOpen: (location: SecretPlace, sealed: string) => boolean
  /** @throws {Error} with a one-line message if the text cannot be decrypted. */
  readonly open: (location: SecretPlace, sealed: string) => string
}

/** Location of a secret. */
export interface SecretPlace {
  readonly namespace: string
  /** See `toObjectKey`. */
  readonly key: string
  readonly what: 'secrets' | 'credentials' | 'account'
}

export function createSecrets(sealer: Sealer | undefined): Secrets {
  const toPath = ({ key, what }: SecretPlace): string => `runtime/${key}/${what}`
  const find = (location: SecretPlace, sealed: string): string | undefined =>
    sealed === '' ? '' : sealer?.open(location.namespace, toPath(location), sealed)
  return {
    canStore: sealer !== undefined,
    canOpen: (location, sealed) => find(location, sealed) !== undefined,

    seal(location, text) {
      if (text === '') return ''
      if (sealer !== undefined) return sealer.seal(location.namespace, toPath(location), text)
      throw badRequest(
        'runtime',
        `request.options.${location.what} cannot be stored: the server has no config_secret_key for encryption`,
      )
    },

    open(location, sealed) {
      const text = find(location, sealed)
      if (text !== undefined) return text
      throw new Error(
        `the ${location.what} cannot be decrypted: config_secret_key has changed; update the service with new ones`,
      )
    },
  }
}
