import type { JSX } from 'preact'
import { showToast } from './toast.tsx'

/** Copies a text. */
export function CopyButton({
  text,
  label = 'Copy',
}: {
  /** What is copied; a function is asked when it is. */
  readonly text: string | (() => string)
  readonly label?: string
}): JSX.Element {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      showToast('Copied')
    } catch {
      showToast('The browser does not let this page copy: it needs HTTPS or localhost.', 'bad')
    }
  }
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      {label}
    </button>
  )
}
