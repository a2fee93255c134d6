import type { JSX } from 'preact'
import { CopyButton } from '../components/copy-button.tsx'
import { Dialog } from '../components/dialog/dialog.tsx'

/** An account as it was made. */
export interface MadeAccount {
  readonly id: string
  /** Told this once. */
  readonly secret: string
}

/** None was made, or its secret was read. */
export const NOT_MADE: MadeAccount = { id: '', secret: '' }

/** Shows the secret of an account that was made, until it is closed. */
export function MadeAccountDialog({
  made: { id, secret },
  onClose,
}: {
  readonly made: MadeAccount
  readonly onClose: () => void
}): JSX.Element {
  return (
    <Dialog title={`The account ${id} was made`} onClose={onClose}>
      <p>It logs in with this secret, which nobody is told again:</p>
      <p>
        <code>{secret}</code> <CopyButton text={secret} label="Copy secret" />
      </p>
    </Dialog>
  )
}
