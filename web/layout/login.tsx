import type { JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useModal } from '../components/dialog/modal.ts'
import { CallError } from '../rpc/call-error.ts'
import { DEFAULT_NAMESPACE, endedSession, logIn } from '../state/session.ts'

/** The page of whoever is not logged in. */
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

/** The login in place: the page below it keeps what was typed. */
export function LoginDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // There is no way on but a login.
  useModal(dialog, () => dialog.current?.showModal())
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => event.preventDefault()}
    >
      <h2 id={id}>The login has ended</h2>
      <p>Log in again to go on: what was typed is still there.</p>
      <LoginForm action="Go on" />
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
  const first = useRef<HTMLInputElement>(null)
  const second = useRef<HTMLInputElement>(null)
  useEffect(() => (id === '' ? first : second).current?.focus(), [])
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      await logIn({ id, secret, namespace })
    } catch (thrown) {
      setError(CallError.from(thrown))
      setSecret('')
      second.current?.focus()
    }
    setBusy(false)
  }
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      <label>
        Account
        <input
          ref={first}
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
        Secret
        <input
          ref={second}
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
  if (code === 401) return 'Account, secret or namespace is wrong.'
  if (code !== 429) return detail
  const seconds = fields.find(([name]) => name === 'retry-after')?.[1]
  return `Too many attempts. Try again ${seconds === undefined ? 'later' : `in ${seconds} s`}.`
}
