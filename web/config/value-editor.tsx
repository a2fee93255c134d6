import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { TextField } from '../components/text-field.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { readDraft, saveDraft, useStoredDraft } from '../state/draft-storage.ts'
import { type Edit, hideEdit, isDirty, revealEdit, settleEdit, startEdit } from './edit.ts'
import { revealValue, setValue } from './service.ts'
import { type ConfigNode, isSecret } from './tree.ts'
import { formatInput, parseInput } from './typed-value.ts'

export interface ValueEditorProps {
  readonly path: string
  readonly node: ConfigNode & { readonly kind: 'value' }
}

/** Editor for a single value. Unsaved input is preserved across navigation and concurrent changes. */
export function ValueEditor({ path, node }: ValueEditorProps): JSX.Element {
  const hidden = isSecret(node)
  const value = hidden ? '' : formatInput(node.text)
  const draftKey = ['config', path]
  const [edit, setEdit] = useState(() => readDraft<Edit>(draftKey) ?? startEdit(value))
  const [isMarkedSecret, setMarkedSecret] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<{ readonly action: string; readonly error: CallError }>()
  const latest = useRef(value)
  latest.current = value
  const { original, text, isRevealed } = edit
  const hasConflict = !isRevealed && value !== original

  useEffect(() => {
    if (hasConflict && !isDirty(edit)) setEdit(startEdit(value))
  }, [value])
  // A revealed secret must not be stored.
  const stored = isRevealed ? hideEdit(edit) : edit
  useStoredDraft(draftKey, isDirty(stored) ? stored : undefined)

  async function attempt(action: string, run: () => Promise<void>): Promise<void> {
    setBusy(true)
    setFailure(undefined)
    try {
      await run()
    } catch (thrown) {
      setFailure({ action, error: CallError.from(thrown) })
    }
    setBusy(false)
  }

  const save = (): Promise<void> =>
    attempt(`set ${path}`, async () => {
      const version = await setValue(path, parseInput(text).data, hidden || isMarkedSecret)
      // The watch may already have delivered the new value.
      const saved = latest.current === value ? text : latest.current
      setEdit((edit) => settleEdit(edit, text, hidden || isMarkedSecret ? '' : saved))
      if (readDraft<Edit>(draftKey)?.text === text) saveDraft(draftKey, undefined)
      showToast(`${path} saved as version ${version}`)
    })

  const reveal = (): Promise<void> =>
    attempt(`reveal ${path}`, async () => {
      const secret = formatInput(await revealValue(path))
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
          <span>Secret value (hidden)</span>
          <button type="button" disabled={isBusy} onClick={() => void reveal()}>
            Reveal
          </button>
        </p>
      )}
      {isRevealed && (
        <p class="form-actions">
          {isDirty(edit) && (
            <span>
              Current value: <code>{original}</code>
            </span>
          )}
          <button type="button" onClick={() => setEdit(hideEdit)}>
            Hide
          </button>
        </p>
      )}
      <TextField
        label={hidden && !isRevealed ? 'New value' : 'Value'}
        help={`Will be saved as ${describe(text)}. JSON, or plain text.`}
        class="code"
        rows={Math.min(20, Math.max(3, text.split('\n').length + 1))}
        value={text}
        onInput={(text) => setEdit((edit) => ({ ...edit, text }))}
      />
      {hasConflict && isDirty(edit) && !isBusy && (
        <p class="notice" role="status">
          This value was changed by another user.{' '}
          <button type="button" onClick={() => setEdit(startEdit(value))}>
            Use theirs
          </button>
        </p>
      )}
      <SecretBox isSecret={hidden} checked={isMarkedSecret} onChange={setMarkedSecret} />
      {failure !== undefined && <Problem error={failure.error} subject={failure.action} />}
      <div class="form-actions">
        <button
          type="submit"
          class="primary"
          disabled={isBusy || !(isDirty(edit) || (isMarkedSecret && !hidden))}
        >
          Set
        </button>
        <button
          type="button"
          disabled={!isDirty(edit)}
          onClick={() => setEdit(isRevealed ? { ...edit, text: original } : startEdit(value))}
        >
          Discard changes
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
  if (isSecret)
    return (
      <p class="muted">The value remains secret. To store it in plain text, delete it first.</p>
    )
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      Secret (encrypted and hidden)
    </label>
  )
}

function describe(text: string): string {
  const { kind } = parseInput(text)
  return kind === 'null' ? 'null' : `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`
}
