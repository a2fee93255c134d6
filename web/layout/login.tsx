import type { JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useModal } from '../components/dialog/modal.ts'
import { CallError } from '../rpc/call-error.ts'
import { DEFAULT_NAMESPACE, endedSession, logIn } from '../state/session.ts'

export function LoginPage(): JSX.Element {
  useEffect(() => {
    document.title = 'Log in · mx'
  }, [])
  return (
    <main class="alone">
      <div class="card login">
        <h1>mx</h1>
        <p class="muted">Log in with an account of this server.</p>
        <LoginForm action="Log in" />
      </div>
    </main>
  )
}

/** Login dialog for an expired session. The page below preserves its input. */
export function LoginDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // The dialog cannot be dismissed.
  useModal(dialog, () => dialog.current?.showModal())
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => event.preventDefault()}
    >
      <h2 id={id}>Session expired</h2>
      <p>Log in again to continue. Your input is preserved.</p>
      <LoginForm action="Continue" />
    </dialog>
  )
}

function LoginForm({ action }: { readonly action: string }): JSX.Element {
  const { value: ended } = endedSession
  const [id, setId] = useState(ended?.account.id ?? '')
  const [secret, setSecret] = useState('')
  const [namespace, setNamespace] = useState(ended?.namespace ?? '')
  const [error, setError] = useState<CallError>()
  const [busy, setBusy] = useState(false)
  const idInput = useRef<HTMLInputElement>(null)
  const secretInput = useRef<HTMLInputElement>(null)
  useEffect(() => (id === '' ? idInput : secretInput).current?.focus(), [])
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      await logIn({ id, secret, namespace })
    } catch (thrown) {
      setError(CallError.from(thrown))
      setSecret('')
      secretInput.current?.focus()
    }
    setBusy(false)
  }
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      <label>
        Account
        <input
          ref={idInput}
          name="id"
          value={id}
          required
          autocomplete="username"
          autocapitalize="none"
          spellcheck={false}
          onInput={({ currentTarget }) => setId(currentTarget.value)}
        />
      </label>
      <label>
        Password
        <input
          ref={secretInput}
          name="secret"
          type="password"
          value={secret}
          required
          autocomplete="current-password"
          onInput={({ currentTarget }) => setSecret(currentTarget.value)}
        />
      </label>
      <label>
        Namespace
        <input
          name="namespace"
          value={namespace}
          placeholder={DEFAULT_NAMESPACE}
          autocapitalize="none"
          spellcheck={false}
          onInput={({ currentTarget }) => setNamespace(currentTarget.value)}
        />
      </label>
      <div role="alert">{error !== undefined && <p class="field-error">{toReason(error)}</p>}</div>
      <button type="submit" class="primary" disabled={busy}>
        {action}
      </button>
    </form>
  )
}

function toReason({ code, detail, fields }: CallError): string {
  if (code === 401) return 'Wrong account, password or namespace.'
  if (code !== 429) return detail
  const seconds = fields.find(([name]) => name === 'retry-after')?.[1]
  return `Too many attempts. Try again ${seconds === undefined ? 'later' : `in ${seconds} s`}.`
}
