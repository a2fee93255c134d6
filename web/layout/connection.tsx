import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { formatTime } from '../components/time/format-time.ts'
import { connection, reconnect } from '../rpc/caller.ts'
import type { ConnectionState } from '../rpc/link.ts'

const WORDS: Readonly<Record<ConnectionState, string>> = {
  connecting: 'Connecting',
  open: 'Live',
  lost: 'Stale',
}
/** When the page was last connected, Unix time in milliseconds. */
const lastLive = signal<number | undefined>(undefined)

/** Whether what is shown is new, in one word. */
export function ConnectionMark(): JSX.Element {
  return (
    <span class="connection" role="status" data-state={connection.value}>
      {WORDS[connection.value]}
    </span>
  )
}

/** Says that what is shown may be old. */
export function ConnectionBanner(): JSX.Element {
  const { value: state } = connection
  useEffect(() => {
    if (state === 'open') lastLive.value = undefined
    if (state === 'lost') lastLive.value ??= Date.now()
  }, [state])
  return (
    <div role="alert">
      {state === 'lost' && (
        <p class="banner">
          <span>
            The server does not answer. What is shown is of{' '}
            {formatTime(lastLive.value ?? Date.now())}; it is tried again all the time.
          </span>
          <button type="button" onClick={reconnect}>
            Try now
          </button>
        </p>
      )}
    </div>
  )
}
