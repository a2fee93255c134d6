import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { chooseNamespace, logOut, namespace, session } from '../state/session.ts'
import { Icon } from './icon.tsx'

/** Who is logged in, and for which namespace calls are made. */
export function Account(): JSX.Element {
  const [typed, setTyped] = useState<string>()
  const leave = (): void => {
    logOut().catch((error) => showToast(`Still logged in: ${CallError.from(error).detail}`, 'bad'))
  }
  return (
    <section class="account" aria-label="Account">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          chooseNamespace(typed)
          setTyped(undefined)
        }}
      >
        <label class="namespace">
          Namespace
          <input
            name="namespace"
            value={typed ?? namespace.value}
            autocapitalize="none"
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
            title="Enter takes it"
            // Half a name is none. Who goes to another window comes back to it.
            onBlur={({ currentTarget }) => {
              if (document.activeElement !== currentTarget) setTyped(undefined)
            }}
          />
        </label>
      </form>
      <p class="account-name" title={session.value?.account.id}>
        {session.value?.account.name || session.value?.account.id}
      </p>
      <button type="button" class="quiet" onClick={leave}>
        <Icon name="logout" /> Log out
      </button>
    </section>
  )
}
