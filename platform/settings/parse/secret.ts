import { createPrivateKey } from 'node:crypto'
import { single } from '../../../lib/values/value.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'
import { parseSecretKey } from '../../../services/config/secrets/secret-key.ts'

// Errors in this file must never contain the value.

/** Limit of the auth service. */
const MAX_PASSWORD = 1024
/**
 * A client that opens a link receives a proof from the server and can test guesses against it
 * without a limit.
 */
const MIN_TOKEN = 16
const KEY_FORMS = '32 bytes in base64'

/** Encryption key; empty if none. */
export const SECRET_KEY: ValueType<string> = single('key', KEY_FORMS, (text) => {
  const trimmed = text.trim()
  try {
    if (trimmed !== '') parseSecretKey(trimmed, '')
  } catch (error) {
    throw new RangeError((error as Error).message.trim(), { cause: error })
  }
  return trimmed
})

/** {@link SECRET_KEY}, or `file` or `memory` for a generated key. */
export const SECRET_KEY_SOURCE: ValueType<string> = single(
  'key',
  `${KEY_FORMS}, file or memory`,
  (text) => {
    const trimmed = text.trim()
    return trimmed === 'file' || trimmed === 'memory' ? trimmed : SECRET_KEY.parse([trimmed])
  },
)

/** Token shared by clients and servers; empty if none. */
export const SHARED_TOKEN: ValueType<string> = single(
  'secret',
  `at least ${MIN_TOKEN} characters`,
  (text) => {
    const token = text.trim()
    if (token !== '' && token.length < MIN_TOKEN)
      throw new RangeError(
        `must have at least ${MIN_TOKEN} characters, for example from openssl rand -base64 32, got ${token.length}`,
      )
    return token
  },
)

/** Password; empty if none. The auth service requires at least 8 characters. */
export const PASSWORD: ValueType<string> = single(
  'password',
  `8 to ${MAX_PASSWORD} characters`,
  (text) => {
    const trimmed = text.trim()
    if (trimmed.length <= MAX_PASSWORD) return trimmed
    throw new RangeError(`must be at most ${MAX_PASSWORD} characters, got ${trimmed.length}`)
  },
)

/** Ed25519 key in PEM format; empty if none. */
export const PRIVATE_KEY: ValueType<string> = single(
  'key',
  'an Ed25519 key in PEM format, optionally base64-encoded',
  (text) => {
    const trimmed = text.trim()
    if (trimmed === '') return ''
    const pem = trimmed.startsWith('-----')
      ? trimmed.replaceAll('\\n', '\n')
      : Buffer.from(trimmed, 'base64').toString()
    let type: string | undefined
    try {
      type = createPrivateKey(pem).asymmetricKeyType
    } catch {
      // The error is reported below, because its reason may quote the text.
    }
    if (type === 'ed25519') return pem
    throw new RangeError(
      `must be an Ed25519 key in PEM format, for example from \`openssl genpkey -algorithm ed25519\`, got ${type === undefined ? 'no private key' : `a key of type ${type}`}`,
    )
  },
)
