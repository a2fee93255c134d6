import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Field } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { parseMetadata } from '../form/metadata.ts'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import type { MadeAccount } from './created-account.tsx'
import { parseScopes } from './rules.ts'

/** Nothing is typed. */
export const NEW_ACCOUNT: Readonly<
  Record<'id' | 'name' | 'type' | 'scopes' | 'secret' | 'metadata', string>
> = { id: '', name: '', type: 'user', scopes: '', secret: '', metadata: '' }

/** What is typed. */
export type TypedAccount = typeof NEW_ACCOUNT

export interface AccountFormProps {
  readonly typed: TypedAccount
  readonly onType: (typed: TypedAccount) => void
  /** Called also when the form is not there any more. */
  readonly onMade: (account: MadeAccount) => void
}

/** Makes an account. */
export function AccountForm({ typed, onType, onMade }: AccountFormProps): JSX.Element {
  const [wrong, setWrong] = useState<string>()
  const [failure, setFailure] = useState<CallError>()
  const [busy, setBusy] = useState(false)
  const type = (change: Partial<TypedAccount>): void => onType({ ...typed, ...change })

  async function create(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setFailure(undefined)
    let metadata: Record<string, string>
    try {
      metadata = parseMetadata(typed.metadata)
      setWrong(undefined)
    } catch (error) {
      setWrong((error as Error).message)
      return
    }
    setBusy(true)
    try {
      const request = { ...typed, id: typed.id.trim(), metadata, scopes: parseScopes(typed.scopes) }
      const { body } = await call<{ account: MadeAccount }>('auth', 'Auth.Generate', request)
      onType(NEW_ACCOUNT)
      onMade(body.account)
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
      <Field label="Id" help="Unique in the namespace; without blanks and slashes.">
        {(control) => (
          <input
            {...control}
            required
            maxLength={128}
            autocomplete="off"
            spellcheck={false}
            value={typed.id}
            onInput={({ currentTarget }) => type({ id: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Name" help="To log in by, too; empty: the id.">
        {(control) => (
          <input
            {...control}
            maxLength={128}
            autocomplete="off"
            spellcheck={false}
            value={typed.name}
            onInput={({ currentTarget }) => type({ name: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Type">
        {(control) => (
          <select
            {...control}
            value={typed.type}
            onChange={({ currentTarget }) => type({ type: currentTarget.value })}
          >
            <option value="user">user</option>
            <option value="service">service</option>
          </select>
        )}
      </Field>
      <Field
        label="Scopes"
        help="Separated by commas; admin and service may administer the namespace."
      >
        {(control) => (
          <input
            {...control}
            autocomplete="off"
            spellcheck={false}
            value={typed.scopes}
            onInput={({ currentTarget }) => type({ scopes: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Secret" help="What it logs in with; empty: a random one, shown once.">
        {(control) => (
          <input
            {...control}
            type="password"
            maxLength={1024}
            autocomplete="new-password"
            value={typed.secret}
            onInput={({ currentTarget }) => type({ secret: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Metadata" help="name=value, one a line; or an object in JSON." error={wrong}>
        {(control) => (
          <textarea
            {...control}
            class="mono"
            rows={3}
            spellcheck={false}
            value={typed.metadata}
            onInput={({ currentTarget }) => type({ metadata: currentTarget.value })}
          />
        )}
      </Field>
      {failure !== undefined && (
        <Problem error={failure} asked={`make the account ${typed.id} (auth Auth.Generate)`} />
      )}
      <div class="form-actions">
        <button type="submit" class="primary" disabled={busy}>
          Make account
        </button>
      </div>
    </form>
  )
}
