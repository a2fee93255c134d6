import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Opens a dialog over the page when it is drawn: focus stays inside, and goes back where it was. */
export function useModal(dialog: RefObject<HTMLDialogElement | null>): void {
  useLayoutEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    element?.showModal()
    return () => {
      element?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
}
