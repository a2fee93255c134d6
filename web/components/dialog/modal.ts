import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/**
 * Opens a dialog over the page when it is drawn: focus stays inside, and goes back where it was.
 *
 * @param onClose it was closed by a key; not because it is no longer drawn.
 */
export function useModal(
  dialog: RefObject<HTMLDialogElement | null>,
  onClose: () => void = () => {},
): void {
  const latest = useRef(onClose)
  latest.current = onClose
  useLayoutEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    const close = (): void => latest.current()
    element?.addEventListener('close', close)
    element?.showModal()
    return () => {
      // Browsers tell of it later, when another dialog may be open.
      element?.removeEventListener('close', close)
      element?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
}
