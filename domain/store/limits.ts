import { isServiceName } from '../../core/registry/service-name.ts'

/** Longest key, bytes of UTF-8. */
export const MAX_KEY_BYTES = 1024
/** Longest metadata of a record, bytes as JSON. */
export const MAX_METADATA_BYTES: number = 16 * 1024
/** Latest time there is: the last day JavaScript knows. */
export const MAX_EXPIRES_MS = 8.64e15

/** NUL, which parts keys where they are stored, and halves of characters, which have no UTF-8. */
const UNWRITABLE = /[\0\p{Surrogate}]/u

/** Whether records may have this key. */
export function isStoreKey(key: unknown): key is string {
  return isKeyPart(key) && key !== ''
}

/** Whether keys may begin or end with this. */
export function isKeyPart(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length <= MAX_KEY_BYTES &&
    Buffer.byteLength(text) <= MAX_KEY_BYTES &&
    !UNWRITABLE.test(text)
  )
}

/** Whether a database or a table may have this name: as services are named. */
export function isTableName(name: unknown): name is string {
  return typeof name === 'string' && isServiceName(name)
}

/** Bytes of metadata as JSON; infinite when they are no texts. */
export function sizeOfMetadata(metadata: Readonly<Record<string, string>>): number {
  let size = 2
  for (const name of Object.keys(metadata)) {
    const text = metadata[name]
    if (typeof text !== 'string') return Number.POSITIVE_INFINITY
    size += Buffer.byteLength(JSON.stringify(name)) + Buffer.byteLength(JSON.stringify(text)) + 2
  }
  return size
}
