import type { JSX } from 'preact'
import { CopyButton } from '../components/copy-button.tsx'
import { Dialog } from '../components/dialog/dialog.tsx'

export interface CreatedAccount {
  readonly id: string
  /** Secret, which is returned only on creation. */
  readonly secret: string
}

/** Value if no account was created, or its dialog was closed. */
export const NONE_CREATED: CreatedAccount = { id: '', secret: '' }

/** Shows the secret of a new account. */
export function CreatedAccountDialog({
  account: { id, secret },
  onClose,
}: {
  readonly account: CreatedAccount
  readonly onClose: () => void
}): JSX.Element {
  return (
    <Dialog title={`Account ${id} created`} onClose={onClose}>
      <p>Save these credentials now. They will not be shown again:</p>
      <p>
        <code>{secret}</code> <CopyButton text={secret} label="Copy credentials" />
      </p>
    </Dialog>
  )
}
