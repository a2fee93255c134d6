import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Field } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
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
  /** Also called after the form was unmounted. */
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
      <Field label="ID" help="Unique in the namespace, without spaces and slashes.">
        {(control) => (
          <input
            {...control}
            required
            maxLength={128}
            autocomplete="off"
            spellcheck={false}
            value={draft.id}
            onInput={({ currentTarget }) => update({ id: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Name" help="Alternative login name; defaults to the ID.">
        {(control) => (
          <input
            {...control}
            maxLength={128}
            autocomplete="off"
            spellcheck={false}
            value={draft.name}
            onInput={({ currentTarget }) => update({ name: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Type">
        {(control) => (
          <select
            {...control}
            value={draft.type}
            onChange={({ currentTarget }) => update({ type: currentTarget.value })}
          >
            <option value="user">user</option>
            <option value="service">service</option>
          </select>
        )}
      </Field>
      <Field label="Scopes" help="Comma-separated; admin and service administer the namespace.">
        {(control) => (
          <input
            {...control}
            autocomplete="off"
            spellcheck={false}
            value={draft.scopes}
            onInput={({ currentTarget }) => update({ scopes: currentTarget.value })}
          />
        )}
      </Field>
      <Field
        label={draft.type === 'service' ? 'Secret' : 'Password'}
        help="Leave empty to generate one, which is shown once."
      >
        {(control) => (
          <input
            {...control}
            type="password"
            maxLength={1024}
            autocomplete="new-password"
            value={draft.secret}
            onInput={({ currentTarget }) => update({ secret: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Metadata" help="One name=value per line, or a JSON object." error={invalid}>
        {(control) => (
          <textarea
            {...control}
            class="mono"
            rows={3}
            spellcheck={false}
            value={draft.metadata}
            onInput={({ currentTarget }) => update({ metadata: currentTarget.value })}
          />
        )}
      </Field>
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
