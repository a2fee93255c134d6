import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { CallError } from '../../rpc/call-error.ts'
import { Problem } from '../problem.tsx'
import { showToast } from '../toast.tsx'
import { useModal } from './modal.ts'

export interface ConfirmProps {
  readonly title: string
  /** What will happen, and what cannot be undone. */
  readonly children: ComponentChildren
  /** The button that does it, such as `Delete`. */
  readonly action: string
  readonly dangerous?: boolean
  /** Does it; the dialog stays, and says why, when it fails. It goes on when the dialog is closed meanwhile: then a toast says so. */
  readonly onConfirm: () => Promise<unknown> | undefined
  /** Closed, done or not. */
  readonly onClose: () => void
}

/** Asks before something is done. Draw it to open it. */
export function Confirm(props: ConfirmProps): JSX.Element {
  const { title, children, action, dangerous = false, onConfirm, onClose } = props
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<CallError>()
  const isGone = useRef(false)
  const leave = (): void => {
    isGone.current = true
  }
  useEffect(() => leave, [])
  const close = (): void => {
    leave()
    onClose()
  }
  useModal(dialog, close)
  const confirm = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await onConfirm()
      // Another dialog may stand there by now.
      if (!isGone.current) close()
    } catch (thrown) {
      const failure = CallError.from(thrown)
      if (isGone.current) showToast(`${title} It failed: ${failure.detail}`, 'bad')
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <div>{children}</div>
      {error !== undefined && <Problem error={error} asked={action} />}
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
