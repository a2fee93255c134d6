import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '../components/dialog/dialog.tsx'
import { Problem } from '../components/problem.tsx'
import { TextField } from '../components/text-field.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { namespace, renewSession, session } from '../state/session.ts'
import { credentialOf } from './account.ts'

/** Changes the password or secret of an account. */
export function SecretDialog({
  id,
  type,
  onClose,
}: {
  readonly id: string
  readonly type: string
  readonly onClose: () => void
}): JSX.Element {
  const [current, setCurrent] = useState('')
  const [secret, setSecret] = useState('')
  const [repeated, setRepeated] = useState('')
  const [invalid, setInvalid] = useState<string>()
  const [failure, setFailure] = useState<CallError>()
  const [busy, setBusy] = useState(false)
  const caller = session.value?.account
  const isSelf = caller?.id === id && caller.issuer === namespace.value
  const requiresCurrent = isSelf || caller?.scopes.includes('admin') !== true
  const credential = credentialOf(type)

  async function change(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setInvalid(secret === repeated ? undefined : 'does not match')
    if (secret !== repeated) return
    setBusy(true)
    setFailure(undefined)
    try {
      await call('auth', 'Accounts.ChangeSecret', { id, old_secret: current, new_secret: secret })
      showToast(`Changed the ${credential} of ${id}`)
      onClose()
      if (isSelf) await renewSession()
    } catch (error) {
      setFailure(CallError.from(error))
      setBusy(false)
    }
  }

  return (
    <Dialog title={`Change ${credential} of ${id}`} close="Cancel" onClose={onClose}>
      <p>
        Revokes all tokens of {isSelf ? 'your account. You must log in again.' : 'the account.'}
      </p>
      <form
        class="form"
        aria-label={`Change ${credential}`}
        onSubmit={(event) => void change(event)}
      >
        {requiresCurrent && (
          <TextField
            label={`Current ${credential}`}
            type="password"
            autocomplete="current-password"
            value={current}
            onInput={setCurrent}
          />
        )}
        <TextField
          label={`New ${credential}`}
          type="password"
          autocomplete="new-password"
          required
          maxLength={1024}
          value={secret}
          onInput={setSecret}
        />
        <TextField
          label={`Confirm ${credential}`}
          error={invalid}
          type="password"
          autocomplete="new-password"
          required
          value={repeated}
          onInput={setRepeated}
        />
        {failure !== undefined && (
          <Problem
            error={failure}
            subject={`change ${credential} of ${id} (auth Accounts.ChangeSecret)`}
          />
        )}
        <div class="form-actions">
          <button type="submit" class="primary" disabled={busy}>
            Change {credential}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
