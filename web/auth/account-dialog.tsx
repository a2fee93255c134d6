import { Fragment, type JSX } from 'preact'
import { Dialog } from '../components/dialog/dialog.tsx'
import { Time } from '../components/time/time.tsx'
import { type AccountMessage, credentialOf } from './account.ts'

export type AccountAction = 'secret' | 'revoke' | 'delete'

export interface AccountDialogProps {
  readonly account: AccountMessage
  readonly onClose: () => void
  readonly onAction: (action: AccountAction) => void
}

/** Account details and actions. */
export function AccountDialog({ account, onClose, onAction }: AccountDialogProps): JSX.Element {
  const { id, name, type, issuer, scopes, metadata, created } = account
  return (
    <Dialog
      title={`Account ${id}`}
      onClose={onClose}
      actions={
        <>
          <button type="button" onClick={() => onAction('secret')}>
            Change {credentialOf(type)}…
          </button>
          <button type="button" onClick={() => onAction('revoke')}>
            Log out everywhere…
          </button>
          <button type="button" class="danger" onClick={() => onAction('delete')}>
            Delete…
          </button>
        </>
      }
    >
      <dl class="facts">
        <dt>Name</dt>
        <dd>{name}</dd>
        <dt>Type</dt>
        <dd>{type}</dd>
        <dt>Namespace</dt>
        <dd>{issuer}</dd>
        <dt>Scopes</dt>
        <dd>{scopes.join(', ') || 'none'}</dd>
        <dt>Created</dt>
        <dd>{created === 0 ? 'unknown' : <Time ms={created * 1000} />}</dd>
        {Object.entries(metadata ?? {}).map(([key, value]) => (
          <Fragment key={key}>
            <dt>{key}</dt>
            <dd class="mono">{value}</dd>
          </Fragment>
        ))}
      </dl>
    </Dialog>
  )
}
