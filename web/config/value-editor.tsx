import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Field } from '../parts/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { showToast } from '../parts/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { revealValue, setValue } from './service.ts'
import { type ConfigNode, isSecret } from './tree.ts'
import { readTyped, toTyped } from './typed-value.ts'

export interface ValueEditorProps {
  readonly path: string
  readonly node: ConfigNode & { readonly kind: 'value' }
}

/** Changes one value. What is typed stays until it is set, whatever happens meanwhile. */
export function ValueEditor({ path, node }: ValueEditorProps): JSX.Element {
  const hidden = isSecret(node)
  const shown = hidden ? '' : toTyped(node.text)
  /** What was there when typing began. */
  const [before, setBefore] = useState(shown)
  const [typed, setTyped] = useState(shown)
  const [isRevealed, setRevealed] = useState(false)
  const [becomesSecret, setBecomesSecret] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<{ readonly what: string; readonly why: CallError }>()
  const latest = useRef(shown)
  latest.current = shown
  const isTyped = typed !== before
  const changed = !isRevealed && shown !== before

  function take(text: string): void {
    setBefore(text)
    setTyped(text)
  }

  useEffect(() => {
    if (changed && !isTyped) take(shown)
  }, [shown])

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
      if (hidden) hide()
      // What was set may have come back already, or does soon.
      else if (latest.current === shown) setBefore(typed)
      else take(latest.current)
      showToast(`${path} was set: version ${version}`)
    })

  const reveal = (): Promise<void> =>
    attempt(`the secret ${path}`, async () => {
      take(toTyped(await revealValue(path)))
      setRevealed(true)
    })

  function hide(): void {
    take('')
    setRevealed(false)
  }

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
          <button type="button" onClick={hide}>
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
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        )}
      </Field>
      {changed && isTyped && (
        <p class="notice" role="status">
          It was changed meanwhile, by somebody else.{' '}
          <button type="button" onClick={() => take(shown)}>
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
          disabled={isBusy || !(isTyped || (becomesSecret && !hidden))}
        >
          Set
        </button>
        <button type="button" disabled={!isTyped} onClick={() => take(isRevealed ? before : shown)}>
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
