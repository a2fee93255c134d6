import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Field } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { readDraft, saveDraft, useStoredDraft } from '../state/draft-storage.ts'
import { beginEdit, type Edit, hideEdit, isTyped, revealEdit, settleEdit } from './edit.ts'
import { revealValue, setValue } from './service.ts'
import { type ConfigNode, isSecret } from './tree.ts'
import { readTyped, toTyped } from './typed-value.ts'

export interface ValueEditorProps {
  readonly path: string
  readonly node: ConfigNode & { readonly kind: 'value' }
}

/** Changes one value. What is typed stays until it is set, or undone: over other values, other places and other pages, too. */
export function ValueEditor({ path, node }: ValueEditorProps): JSX.Element {
  const hidden = isSecret(node)
  const shown = hidden ? '' : toTyped(node.text)
  const place = ['config', path]
  const [edit, setEdit] = useState(() => readDraft<Edit>(place) ?? beginEdit(shown))
  const [becomesSecret, setBecomesSecret] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<{ readonly what: string; readonly why: CallError }>()
  const latest = useRef(shown)
  latest.current = shown
  const { before, typed, isRevealed } = edit
  const changed = !isRevealed && shown !== before

  useEffect(() => {
    if (changed && !isTyped(edit)) setEdit(beginEdit(shown))
  }, [shown])
  // The secret itself is not kept.
  const kept = isRevealed ? hideEdit(edit) : edit
  useStoredDraft(place, isTyped(kept) ? kept : undefined)

  async function attempt(what: string, doIt: () => Promise<void>): Promise<void> {
    setBusy(true)
    setError(undefined)
    try {
      await doIt()
    } catch (thrown) {
      setError({ what, why: CallError.from(thrown) })
    }
    setBusy(false)
  }

  const save = (): Promise<void> =>
    attempt(`setting ${path}`, async () => {
      const version = await setValue(path, readTyped(typed).data, hidden || becomesSecret)
      // What was set may have come back already, or does soon.
      const now = latest.current === shown ? typed : latest.current
      setEdit((edit) => settleEdit(edit, typed, hidden || becomesSecret ? '' : now))
      if (readDraft<Edit>(place)?.typed === typed) saveDraft(place, undefined)
      showToast(`${path} was set: version ${version}`)
    })

  const reveal = (): Promise<void> =>
    attempt(`the secret ${path}`, async () => {
      const secret = toTyped(await revealValue(path))
      setEdit((edit) => revealEdit(edit, secret))
    })

  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      {hidden && !isRevealed && (
        <p class="form-actions">
          <span>It is a secret, and hidden.</span>
          <button type="button" disabled={isBusy} onClick={() => void reveal()}>
            Show it
          </button>
        </p>
      )}
      {isRevealed && (
        <p class="form-actions">
          {isTyped(edit) && (
            <span>
              It is <code>{before}</code>
            </span>
          )}
          <button type="button" onClick={() => setEdit(hideEdit)}>
            Hide it
          </button>
        </p>
      )}
      <Field
        label={hidden && !isRevealed ? 'New value' : 'Value'}
        help={`It is set as ${describe(typed)}. JSON is what it says; anything else is a text.`}
      >
        {(control) => (
          <textarea
            {...control}
            class="code"
            rows={Math.min(20, Math.max(3, typed.split('\n').length + 1))}
            spellcheck={false}
            autocomplete="off"
            value={typed}
            onInput={({ currentTarget: { value } }) =>
              setEdit((edit) => ({ ...edit, typed: value }))
            }
          />
        )}
      </Field>
      {changed && isTyped(edit) && !isBusy && (
        <p class="notice" role="status">
          It was changed meanwhile, by somebody else.{' '}
          <button type="button" onClick={() => setEdit(beginEdit(shown))}>
            Take theirs
          </button>
        </p>
      )}
      <SecretBox isSecret={hidden} checked={becomesSecret} onChange={setBecomesSecret} />
      {error !== undefined && <Problem error={error.why} asked={error.what} />}
      <div class="form-actions">
        <button
          type="submit"
          class="primary"
          disabled={isBusy || !(isTyped(edit) || (becomesSecret && !hidden))}
        >
          Set
        </button>
        <button
          type="button"
          disabled={!isTyped(edit)}
          onClick={() => setEdit(isRevealed ? { ...edit, typed: before } : beginEdit(shown))}
        >
          Undo typing
        </button>
      </div>
    </form>
  )
}

function SecretBox({
  isSecret,
  checked,
  onChange,
}: {
  readonly isSecret: boolean
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}): JSX.Element {
  if (isSecret) return <p class="muted">It stays secret. To make it plain, delete it first.</p>
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      Secret: encrypted, and hidden from now on
    </label>
  )
}

function describe(typed: string): string {
  const { kind } = readTyped(typed)
  return kind === 'null' ? 'null' : `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`
}
