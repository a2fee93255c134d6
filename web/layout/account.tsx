import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { chooseNamespace, logOut, namespace, session } from '../state/session.ts'
import { Icon } from './icon.tsx'

/** Shows the logged-in account and the namespace of calls. */
export function Account(): JSX.Element {
  const [draft, setDraft] = useState<string>()
  const handleLogout = (): void => {
    logOut().catch((error) => showToast(`Logout failed: ${CallError.from(error).detail}`, 'bad'))
  }
  return (
    <section class="account" aria-label="Account">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          chooseNamespace(draft)
          setDraft(undefined)
        }}
      >
        <label class="namespace">
          Namespace
          <input
            name="namespace"
            value={draft ?? namespace.value}
            autocapitalize="none"
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => setDraft(currentTarget.value)}
            title="Press Enter to switch"
            // Discards an unsubmitted name, unless only the window has lost focus.
            onBlur={({ currentTarget }) => {
              if (document.activeElement !== currentTarget) setDraft(undefined)
            }}
          />
        </label>
      </form>
      <p class="account-name" title={session.value?.account.id}>
        {session.value?.account.name || session.value?.account.id}
      </p>
      <button type="button" class="quiet" onClick={handleLogout}>
        <Icon name="logout" /> Log out
      </button>
    </section>
  )
}
