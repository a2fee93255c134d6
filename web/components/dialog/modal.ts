import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/**
 * Opens a modal dialog on mount. Focus stays inside the dialog and is restored on unmount.
 *
 * @param onClose called if the user closes the dialog with a key, but not on unmount.
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
      // Browsers fire `close` asynchronously, when another dialog may already be open.
      element?.removeEventListener('close', close)
      element?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
}
