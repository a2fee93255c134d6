import type { ComponentChildren, JSX } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { useModal } from './modal.ts'

export interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  /** Closed, by its button, the key Escape, or whoever no longer draws it. */
  readonly onClose: () => void
  /** Buttons beside that which closes it. */
  readonly actions?: ComponentChildren
  /** What the button that closes it says. @default Close */
  readonly close?: string
}

/** Something to read or to fill in over the page. Draw it to open it. */
export function Dialog({
  title,
  children,
  onClose,
  actions,
  close = 'Close',
}: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useModal(dialog, onClose)
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          {close}
        </button>
        {actions}
      </div>
    </dialog>
  )
}
