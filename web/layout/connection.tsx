import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { formatTime } from '../components/time/format-time.ts'
import { connection, reconnect } from '../rpc/caller.ts'
import type { ConnectionState } from '../rpc/link.ts'

const LABELS: Readonly<Record<ConnectionState, string>> = {
  connecting: 'Connecting',
  open: 'Live',
  lost: 'Stale',
}
/** Unix time in milliseconds when the page was last connected. */
const lastLive = signal<number | undefined>(undefined)

/** Connection state. */
export function ConnectionMark(): JSX.Element {
  return (
    <span class="connection" role="status" data-state={connection.value}>
      {LABELS[connection.value]}
    </span>
  )
}

/** Banner shown while the data may be stale. */
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
            Server unreachable, reconnecting. Showing data from{' '}
            {formatTime(lastLive.value ?? Date.now())}.
          </span>
          <button type="button" onClick={reconnect}>
            Reconnect
          </button>
        </p>
      )}
    </div>
  )
}
