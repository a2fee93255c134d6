import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { createBackOff } from '../../core/back-off.ts'
import { useCall } from '../hooks.ts'
import { Problem } from '../parts/problem.tsx'
import { Loading } from '../parts/states.tsx'
import { Toasts } from '../parts/toast.tsx'
import { endedSession, isKnown, readSession, session } from '../session.ts'
import { LoginDialog, LoginPage } from './login.tsx'
import { Shell } from './shell.tsx'

/** The dashboard: a login, or the page that the address names. */
export function App(): JSX.Element {
  const { state, error, reload } = useCall(readSession, [])
  const backOff = useRef(createBackOff()).current
  useEffect(() => {
    if (state !== 'failed' || isKnown.value) return undefined
    const timer = setTimeout(reload, backOff.next())
    return () => clearTimeout(timer)
  }, [state, error])
  if (!isKnown.value)
    return (
      <main class="alone">
        {error === undefined ? (
          <Loading />
        ) : (
          <Problem error={error} asked="who is logged in" onRetry={reload} />
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
