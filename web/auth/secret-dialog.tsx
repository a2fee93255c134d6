import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '../components/dialog/dialog.tsx'
import { Field } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { namespace, renewSession, session } from '../state/session.ts'

/** Changes what an account logs in with. */
export function SecretDialog({
  id,
  onClose,
}: {
  readonly id: string
  readonly onClose: () => void
}): JSX.Element {
  const [old, setOld] = useState('')
  const [secret, setSecret] = useState('')
  const [again, setAgain] = useState('')
  const [wrong, setWrong] = useState<string>()
  const [failure, setFailure] = useState<CallError>()
  const [busy, setBusy] = useState(false)
  const caller = session.value?.account
  const isOwn = caller?.id === id && caller.issuer === namespace.value
  const asksOld = isOwn || caller?.scopes.includes('admin') !== true

  async function change(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setWrong(secret === again ? undefined : 'the two are not the same')
    if (secret !== again) return
    setBusy(true)
    setFailure(undefined)
    try {
      await call('auth', 'Accounts.ChangeSecret', { id, old_secret: old, new_secret: secret })
      showToast(`The secret of ${id} was changed`)
      onClose()
      if (isOwn) await renewSession()
    } catch (error) {
      setFailure(CallError.from(error))
      setBusy(false)
    }
  }

  return (
    <Dialog title={`Change the secret of ${id}`} close="Cancel" onClose={onClose}>
      <p>
        Everything that was issued to {isOwn ? 'you' : 'it'} counts for nothing then:{' '}
        {isOwn ? 'you log' : 'whoever uses it logs'} in again.
      </p>
      <form class="form" aria-label="Change secret" onSubmit={(event) => void change(event)}>
        {asksOld && (
          <Field label="Old secret">
            {(control) => (
              <input
                {...control}
                type="password"
                autocomplete="current-password"
                value={old}
                onInput={({ currentTarget }) => setOld(currentTarget.value)}
              />
            )}
          </Field>
        )}
        <Field label="New secret">
          {(control) => (
            <input
              {...control}
              type="password"
              autocomplete="new-password"
              required
              maxLength={1024}
              value={secret}
              onInput={({ currentTarget }) => setSecret(currentTarget.value)}
            />
          )}
        </Field>
        <Field label="New secret again" error={wrong}>
          {(control) => (
            <input
              {...control}
              type="password"
              autocomplete="new-password"
              required
              value={again}
              onInput={({ currentTarget }) => setAgain(currentTarget.value)}
            />
          )}
        </Field>
        {failure !== undefined && (
          <Problem
            error={failure}
            asked={`change the secret of ${id} (auth Accounts.ChangeSecret)`}
          />
        )}
        <div class="form-actions">
          <button type="submit" class="primary" disabled={busy}>
            Change secret
          </button>
        </div>
      </form>
    </Dialog>
  )
}
