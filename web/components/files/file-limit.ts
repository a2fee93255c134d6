import { formatBytes } from '../time/format.ts'

/** A selected file. Its content is stored as bytes, because text would be slow to render. */
export interface PickedFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/**
 * Maximum size of a file in a request. The Base64 of a larger file exceeds the message limit (docs/protocol.md §2.2).
 */
export const MESSAGE_FILE_BYTES: number = 11 * 1024 * 1024

/** Maximum size of a record value (docs/store.md) and of an event payload (docs/events.md). */
export const VALUE_BYTES: number = 1024 * 1024

/** Returns an error message if a file exceeds the limit, else undefined. */
export function rejectFile(
  { name, size }: Pick<File, 'name' | 'size'>,
  maxBytes: number,
): string | undefined {
  if (size <= maxBytes) return undefined
  return `${name} is too large: at most ${formatBytes(maxBytes)}, got ${formatBytes(size)}`
}
