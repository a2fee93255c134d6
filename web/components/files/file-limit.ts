import { formatBytes } from '../time/format.ts'

/** A file that was chosen: its bytes, not a text of them, which would be slow to show. */
export interface PickedFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/** Base64 of more would be longer than the longest message (docs/protocol.md §2.2). */
export const MESSAGE_FILE_BYTES: number = 11 * 1024 * 1024

/** Longest value of a record (docs/store.md), and payload of an event (docs/events.md). */
export const VALUE_BYTES: number = 1024 * 1024

/** Why a file is not read; undefined: it may be. */
export function rejectFile(
  { name, size }: Pick<File, 'name' | 'size'>,
  maxBytes: number,
): string | undefined {
  if (size <= maxBytes) return undefined
  return `${name} is too long: at most ${formatBytes(maxBytes)}, got ${formatBytes(size)}`
}
