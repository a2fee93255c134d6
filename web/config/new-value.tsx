import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { TextField } from '../components/text-field.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { readDraft, saveDraft, useStoredDraft } from '../state/draft-storage.ts'
import { setValue } from './service.ts'
import { type ConfigNode, findNode } from './tree.ts'
import { parseInput } from './typed-value.ts'

export interface NewValueProps {
  readonly root: ConfigNode
  /** Path prefix; empty for the root. */
  readonly below: string
  readonly onSet: (path: string) => void
}

interface ValueDraft {
  readonly path: string
  readonly value: string
  readonly secret: boolean
}

const DRAFT_KEY = ['config', '']

/** Form for a value at a new path. Unsaved input is preserved when the form is closed. */
export function NewValue({ root, below, onSet }: NewValueProps): JSX.Element {
  const [draft, setDraft] = useState<ValueDraft>(
    () =>
      readDraft<ValueDraft>(DRAFT_KEY) ?? {
        path: below === '' ? '' : `${below}.`,
        value: '',
        secret: false,
      },
  )
  const { path, value, secret } = draft
  const update = (change: Partial<ValueDraft>): void =>
    setDraft((draft) => ({ ...draft, ...change }))
  useStoredDraft(DRAFT_KEY, value === '' ? undefined : draft)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<CallError>()
  const exists = path !== '' && findNode(root, path) !== undefined

  async function save(): Promise<void> {
    setBusy(true)
    setError(undefined)
    try {
      const version = await setValue(path, parseInput(value).data, secret)
      showToast(`${path} saved as version ${version}`)
      if (readDraft(DRAFT_KEY) === draft) saveDraft(DRAFT_KEY, undefined)
      onSet(path)
    } catch (thrown) {
      setError(CallError.from(thrown))
    }
    setBusy(false)
  }

  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <TextField
        label="Path"
        help={
          exists
            ? 'This path exists. An object is merged; any other value replaces it.'
            : 'Dot-separated keys, such as service.key.subkey'
        }
        class="code"
        required
        value={path}
        onInput={(path) => update({ path })}
      />
      <TextField
        label="Value"
        help="JSON, or plain text."
        class="code"
        rows={4}
        value={value}
        onInput={(value) => update({ value })}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={secret}
          onChange={({ currentTarget }) => update({ secret: currentTarget.checked })}
        />
        Secret (encrypted and hidden)
      </label>
      {error !== undefined && <Problem error={error} subject={`set ${path}`} />}
      <div class="form-actions">
        <button type="submit" class="primary" disabled={isBusy}>
          Set
        </button>
      </div>
    </form>
  )
}
