import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { createBackOff } from '../../lib/async/backoff.ts'
import { Problem } from '../components/problem.tsx'
import { Loading } from '../components/states.tsx'
import { Toasts } from '../components/toast.tsx'
import { useCall } from '../hooks/use-call.ts'
import { endedSession, isSessionLoaded, readSession, session } from '../state/session.ts'
import { LoginDialog, LoginPage } from './login.tsx'
import { Shell } from './shell.tsx'

/** Root component: the login page or the current page. */
export function App(): JSX.Element {
  const { state, error, reload } = useCall(readSession, [])
  const backOff = useRef(createBackOff()).current
  useEffect(() => {
    if (state !== 'failed' || isSessionLoaded.value) return undefined
    const timer = setTimeout(reload, backOff.next())
    return () => clearTimeout(timer)
  }, [state, error])
  if (!isSessionLoaded.value)
    return (
      <main class="alone">
        {error === undefined ? (
          <Loading />
        ) : (
          <Problem error={error} subject="session" onRetry={reload} />
        )}
      </main>
    )
  if (session.value === null && endedSession.value === null) return <LoginPage />
  return (
    <>
      <Shell />
      {session.value === null && <LoginDialog />}
      <Toasts />
    </>
  )
}
