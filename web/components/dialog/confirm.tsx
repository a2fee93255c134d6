import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { CallError } from '../../rpc/call-error.ts'
import { Problem } from '../problem.tsx'
import { showToast } from '../toast.tsx'
import { useModal } from './modal.ts'

export interface ConfirmProps {
  readonly title: string
  /** Consequences of the action, and whether they can be undone. */
  readonly children: ComponentChildren
  /** Label of the confirm button, such as `Delete`. */
  readonly action: string
  readonly dangerous?: boolean
  /** Runs the action. An error is shown in the dialog, or as a toast if the dialog was closed in the meantime. */
  readonly onConfirm: () => Promise<unknown> | undefined
  /** Called on cancel and after success. */
  readonly onClose: () => void
}

/** Confirmation dialog, open while rendered. */
export function Confirm(props: ConfirmProps): JSX.Element {
  const { title, children, action, dangerous = false, onConfirm, onClose } = props
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<CallError>()
  const isClosed = useRef(false)
  const markClosed = (): void => {
    isClosed.current = true
  }
  useEffect(() => markClosed, [])
  const close = (): void => {
    markClosed()
    onClose()
  }
  useModal(dialog, close)
  const confirm = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await onConfirm()
      // Another dialog may already be open.
      if (!isClosed.current) close()
    } catch (thrown) {
      const failure = CallError.from(thrown)
      if (isClosed.current) showToast(`${title} Failed: ${failure.detail}`, 'bad')
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <div>{children}</div>
      {error !== undefined && <Problem error={error} subject={action} />}
      <div class="dialog-actions">
        <button type="button" onClick={close}>
          {busy ? 'Close' : 'Cancel'}
        </button>
        <button
          type="button"
          class={dangerous ? 'danger' : 'primary'}
          disabled={busy}
          onClick={() => void confirm()}
        >
          {action}
        </button>
      </div>
    </dialog>
  )
}
