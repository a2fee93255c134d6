import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { SelectField } from '../components/select-field.tsx'
import { TextField } from '../components/text-field.tsx'
import { parseMetadata } from '../form/metadata.ts'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import type { CreatedAccount } from './created-account.tsx'
import { parseScopes } from './rules.ts'

export const NEW_ACCOUNT: Readonly<
  Record<'id' | 'name' | 'type' | 'scopes' | 'secret' | 'metadata', string>
> = { id: '', name: '', type: 'user', scopes: '', secret: '', metadata: '' }

export type AccountDraft = typeof NEW_ACCOUNT

export interface AccountFormProps {
  readonly draft: AccountDraft
  readonly onChange: (draft: AccountDraft) => void
  /** Called even after the form was unmounted. */
  readonly onCreated: (account: CreatedAccount) => void
}

/** Form that creates an account. */
export function AccountForm({ draft, onChange, onCreated }: AccountFormProps): JSX.Element {
  const [invalid, setInvalid] = useState<string>()
  const [failure, setFailure] = useState<CallError>()
  const [busy, setBusy] = useState(false)
  const update = (change: Partial<AccountDraft>): void => onChange({ ...draft, ...change })

  async function create(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setFailure(undefined)
    let metadata: Record<string, string>
    try {
      metadata = parseMetadata(draft.metadata)
      setInvalid(undefined)
    } catch (error) {
      setInvalid((error as Error).message)
      return
    }
    setBusy(true)
    try {
      const request = { ...draft, id: draft.id.trim(), metadata, scopes: parseScopes(draft.scopes) }
      const { body } = await call<{ account: CreatedAccount }>('auth', 'Auth.Generate', request)
      onChange(NEW_ACCOUNT)
      onCreated(body.account)
    } catch (error) {
      setFailure(CallError.from(error))
    }
    setBusy(false)
  }

  return (
    <form
      class="form record-form"
      aria-label="New account"
      onSubmit={(event) => void create(event)}
    >
      <TextField
        label="ID"
        help="Unique in the namespace, without spaces and slashes."
        required
        maxLength={128}
        value={draft.id}
        onInput={(id) => update({ id })}
      />
      <TextField
        label="Name"
        help="Alternative login name; defaults to the ID."
        maxLength={128}
        value={draft.name}
        onInput={(name) => update({ name })}
      />
      <SelectField
        label="Type"
        value={draft.type}
        choices={['user', 'service']}
        onInput={(type) => update({ type })}
      />
      <TextField
        label="Scopes"
        help="Comma-separated; admin and service administer the namespace."
        value={draft.scopes}
        onInput={(scopes) => update({ scopes })}
      />
      <TextField
        label={draft.type === 'service' ? 'Secret' : 'Password'}
        help="Leave empty to generate one, which is shown once."
        type="password"
        maxLength={1024}
        autocomplete="new-password"
        value={draft.secret}
        onInput={(secret) => update({ secret })}
      />
      <TextField
        label="Metadata"
        help="One name=value per line, or a JSON object."
        error={invalid}
        class="mono"
        rows={3}
        value={draft.metadata}
        onInput={(metadata) => update({ metadata })}
      />
      {failure !== undefined && (
        <Problem error={failure} subject={`create account ${draft.id} (auth Auth.Generate)`} />
      )}
      <div class="form-actions">
        <button type="submit" class="primary" disabled={busy}>
          Create account
        </button>
      </div>
    </form>
  )
}
