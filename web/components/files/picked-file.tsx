import type { JSX } from 'preact'
import { formatBytes } from '../time/format.ts'
import { showToast } from '../toast.tsx'
import { type PickedFile, rejectFile } from './file-limit.ts'

/** Reads the selected file. Returns undefined if no file is selected or reading fails; errors are shown as a toast. */
export async function readPicked(
  file: File | undefined,
  maxBytes: number,
): Promise<PickedFile | undefined> {
  if (file === undefined) return undefined
  const rejection = rejectFile(file, maxBytes)
  if (rejection === undefined) {
    try {
      return { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) }
    } catch {
      // The file was moved or is unreadable.
    }
  }
  showToast(rejection ?? `${file.name} cannot be read`, 'bad')
  return undefined
}

export interface PickedProps {
  readonly file: PickedFile
  readonly onRemove: () => void
}

/** Shown in place of the text input while a file is selected. */
export function Picked({ file: { name, bytes }, onRemove }: PickedProps): JSX.Element {
  return (
    <p class="form-actions">
      <span>
        {name}, {formatBytes(bytes.length)}
      </span>
      <button type="button" class="quiet" onClick={onRemove}>
        Remove file
      </button>
    </p>
  )
}
