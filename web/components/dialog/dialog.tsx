import type { ComponentChildren, JSX } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { useModal } from './modal.ts'

export interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  /** Called when the user clicks the close button or presses Escape. */
  readonly onClose: () => void
  /** Buttons next to the close button. */
  readonly actions?: ComponentChildren
  /** Label of the close button. @default Close */
  readonly close?: string
}

/** Modal dialog, open while rendered. */
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
