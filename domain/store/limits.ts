import { isServiceName } from '../../core/registry/service-name.ts'

/** Maximum length of a key in UTF-8 bytes. */
export const MAX_KEY_BYTES = 1024
/** Maximum size of a record's metadata as JSON in bytes. */
export const MAX_METADATA_BYTES: number = 16 * 1024
/** Maximum time that a JavaScript date can represent. */
export const MAX_EXPIRES_MS = 8.64e15

/**
 * Matches NUL, which separates keys in storage, and lone surrogates, which have no UTF-8 encoding.
 */
const UNWRITABLE = /[\0\p{Surrogate}]/u

/** Returns whether a record may have this key. */
export function isStoreKey(key: unknown): key is string {
  return isKeyPart(key) && key !== ''
}

/** Returns whether a text may be a prefix or suffix of keys. */
export function isKeyPart(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length <= MAX_KEY_BYTES &&
    Buffer.byteLength(text) <= MAX_KEY_BYTES &&
    !UNWRITABLE.test(text)
  )
}

/** Returns whether a database or table may have this name. The rule is the same as for services. */
export function isTableName(name: unknown): name is string {
  return typeof name === 'string' && isServiceName(name)
}

/** Returns the size of metadata as JSON, or infinity if its values are not strings. */
export function sizeOfMetadata(metadata: Readonly<Record<string, string>>): number {
  let size = 2
  for (const name of Object.keys(metadata)) {
    const text = metadata[name]
    if (typeof text !== 'string') return Number.POSITIVE_INFINITY
    size += Buffer.byteLength(JSON.stringify(name)) + Buffer.byteLength(JSON.stringify(text)) + 2
  }
  return size
}
