import type { JSX } from 'preact'
import { showToast } from './toast.tsx'

export function CopyButton({
  text,
  label = 'Copy',
}: {
  /** Text to copy; a function is called on click. */
  readonly text: string | (() => string)
  readonly label?: string
}): JSX.Element {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      showToast('Copied')
    } catch {
      showToast('Copying failed: the browser allows it only over HTTPS or on localhost.', 'bad')
    }
  }
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      {label}
    </button>
  )
}
