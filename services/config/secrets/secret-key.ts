import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Encrypts and decrypts secrets, bound to their path. */
export interface SecretKey {
  /** Id that identifies the key without revealing it. */
  readonly id: string
  /** Encrypts a text, which can only be decrypted for the same path. */
  readonly seal: (namespace: string, path: string, text: string) => string
  /** Decrypts a text. Returns undefined if it has a different key or path, or was modified. */
  readonly open: (namespace: string, path: string, sealed: string) => string | undefined
}

const KEY_BYTES = 32
/** Matches both alphabets of RFC 4648 §4 and §5, with or without padding. */
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
/** Version of the format. Any change below requires a new version. */
const FORMAT = 'mx1'
const CIPHER = 'aes-256-gcm'
/** Random 96-bit nonce (NIST SP 800-38D §8.2.2), sufficient for 2^32 secrets per key. */
const NONCE_BYTES = 12
const TAG_BYTES = 16
const ID_BYTES = 9

/**
 * Parses a key: 32 bytes in base64.
 *
 * A sealed text has the form `mx1.<key id>.<nonce, ciphertext and tag in base64url>`. It uses
 * AES-256-GCM with a random nonce, bound to namespace and path. The encryption key and the key id
 * are derived from the key (RFC 5869).
 *
 * @param source source of the text, for error messages.
 * @throws {Error} with a one-line message that does not contain the text.
 */
export function parseSecretKey(text: string, source: string): SecretKey {
  const trimmed = text.trim()
  const bytes = BASE64.test(trimmed) ? Buffer.from(trimmed, 'base64') : undefined
  if (bytes?.length !== KEY_BYTES) {
    const actual = bytes === undefined ? 'invalid base64' : `${bytes.length} bytes`
    throw new Error(
      `${source} must be ${KEY_BYTES} bytes in base64, as created by \`openssl rand -base64 ${KEY_BYTES}\`, got ${actual}`,
    )
  }
  return createSecretKey(bytes)
}

/** Generates a key. */
export function makeSecretKey(): string {
  return randomBytes(KEY_BYTES).toString('base64')
}

function createSecretKey(master: Uint8Array): SecretKey {
  const derive = (use: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', master, '', `mx config ${use} 1`, bytes))
  const key = derive('encryption', KEY_BYTES)
  const id = derive('key id', ID_BYTES).toString('base64url')
  const start = `${FORMAT}.${id}.`
  return {
    id,

    seal(namespace, path, text) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(toAssociatedData(namespace, path))
      const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
      return start + Buffer.concat(parts).toString('base64url')
    },

    open(namespace, path, sealed) {
      if (!sealed.startsWith(start)) return undefined
      const bytes = Buffer.from(sealed.slice(start.length), 'base64url')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(toAssociatedData(namespace, path))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8')
      try {
        return text + decipher.final('utf8')
      } catch {
        return undefined
      }
    },
  }
}

// Neither namespaces nor paths can contain NUL.
function toAssociatedData(namespace: string, path: string): Buffer {
  return Buffer.from(`${FORMAT}\0${namespace}\0${path}`)
}
