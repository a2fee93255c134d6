import type { JSX } from 'preact'
import { formatBytes } from '../time/format.ts'
import { showToast } from '../toast.tsx'
import { type PickedFile, rejectFile } from './file-limit.ts'

/** Reads a file. Undefined: there is none, it is too long, or it cannot be read, as a toast says. */
export async function readPicked(
  file: File | undefined,
  maxBytes: number,
): Promise<PickedFile | undefined> {
  if (file === undefined) return undefined
  const refusal = rejectFile(file, maxBytes)
  if (refusal === undefined) {
    try {
      return { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) }
    } catch {
      // It was moved, or may not be read.
    }
  }
  showToast(refusal ?? `${file.name} cannot be read`, 'bad')
  return undefined
}

export interface PickedProps {
  readonly file: PickedFile
  readonly onRemove: () => void
}

/** Stands where its bytes would be typed. */
export function Picked({ file: { name, bytes }, onRemove }: PickedProps): JSX.Element {
  return (
    <p class="form-actions">
      <span>
        {name}, {formatBytes(bytes.length)}
      </span>
      <button type="button" class="quiet" onClick={onRemove}>
        Remove the file
      </button>
    </p>
  )
}
