import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Field } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { readDraft, saveDraft, useStoredDraft } from '../state/draft-storage.ts'
import { setValue } from './service.ts'
import { type ConfigNode, findNode } from './tree.ts'
import { readTyped } from './typed-value.ts'

export interface NewValueProps {
  readonly root: ConfigNode
  /** Path it may stand below; empty: the root. */
  readonly below: string
  /** Told of the path that was set. */
  readonly onSet: (path: string) => void
}

interface Typed {
  readonly path: string
  readonly value: string
  readonly secret: boolean
}

const PLACE = ['config', '']

/** Sets a value at a path that is typed. What is typed stays until it is set, also when the form is closed. */
export function NewValue({ root, below, onSet }: NewValueProps): JSX.Element {
  const [typed, setTyped] = useState<Typed>(
    () =>
      readDraft<Typed>(PLACE) ?? {
        path: below === '' ? '' : `${below}.`,
        value: '',
        secret: false,
      },
  )
  const { path, value, secret } = typed
  const type = (change: Partial<Typed>): void => setTyped((typed) => ({ ...typed, ...change }))
  useStoredDraft(PLACE, value === '' ? undefined : typed)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<CallError>()
  const isThere = path !== '' && findNode(root, path) !== undefined

  async function save(): Promise<void> {
    setBusy(true)
    setError(undefined)
    try {
      const version = await setValue(path, readTyped(value).data, secret)
      showToast(`${path} was set: version ${version}`)
      if (readDraft(PLACE) === typed) saveDraft(PLACE, undefined)
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
      <Field
        label="Path"
        help={
          isThere
            ? 'Something is there: an object is merged with it, anything else takes its place.'
            : 'Names joined by dots: service.key.subkey'
        }
      >
        {(control) => (
          <input
            {...control}
            type="text"
            class="code"
            required
            autocomplete="off"
            spellcheck={false}
            value={path}
            onInput={({ currentTarget }) => type({ path: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Value" help="JSON is what it says; anything else is a text.">
        {(control) => (
          <textarea
            {...control}
            class="code"
            rows={4}
            autocomplete="off"
            spellcheck={false}
            value={value}
            onInput={({ currentTarget }) => type({ value: currentTarget.value })}
          />
        )}
      </Field>
      <label class="check">
        <input
          type="checkbox"
          checked={secret}
          onChange={({ currentTarget }) => type({ secret: currentTarget.checked })}
        />
        Secret: encrypted, and hidden from now on
      </label>
      {error !== undefined && <Problem error={error} asked={`setting ${path}`} />}
      <div class="form-actions">
        <button type="submit" class="primary" disabled={isBusy}>
          Set
        </button>
      </div>
    </form>
  )
}
