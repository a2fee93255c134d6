import { hash, randomBytes } from 'node:crypto'
import type { PresentedApiKey } from '../../contracts/auth.ts'

/** Prefix of API keys, by which secret scanners find them. */
const PREFIX = 'mxk_'
/** Prefix, id and secret: 8 and 32 random bytes. */
const FORM = /^mxk_([0-9a-f]{16})_[\w-]{43}$/
/** Maximum time that a verified API key is cached, in milliseconds. Revocations take effect earlier. */
export const API_KEY_CACHE_MS: number = 15 * 60_000
/** Header for API keys, in lower case. */
export const API_KEY_HEADER = 'x-api-key'

/** Returns true for a text with the prefix of API keys, even if it is malformed. */
export function isApiKey(text: string): boolean {
  return text.startsWith(PREFIX)
}

/** Returns the id and the hash of an API key, or undefined if it is malformed. */
export function parseApiKey(text: string): PresentedApiKey | undefined {
  const id = FORM.exec(text)?.[1]
  return id === undefined ? undefined : { id, hash: hashApiKey(text) }
}

/** Creates a random key id. */
export function createApiKeyId(): string {
  return randomBytes(8).toString('hex')
}

/** Creates a random key with an id: `mxk_<id>_<secret>`. */
export function createApiKey(id: string): string {
  return `${PREFIX}${id}_${randomBytes(32).toString('base64url')}`
}

/** A fast hash suffices, because the secret has 256 random bits. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'base64url')
}
