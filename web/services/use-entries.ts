import { useMemo, useState } from 'preact/hooks'
import { useAnimationFrame } from '../hooks/use-animation-frame.ts'
import { type CallState, useCall, useWatch, type WatchState } from '../hooks/use-call.ts'
import { call, openStream } from '../rpc/caller.ts'
import { LiveEntries } from './live-entries.ts'
import { type Change, type Entries, type Entry, keyOf } from './service-rows.ts'

export interface KnownEntries {
  /** Undefined: not told yet. */
  readonly entries: Entries | undefined
  readonly error: CallState<unknown>['error']
  readonly state: WatchState['state']
  readonly reload: () => void
}

/** All that is registered in a namespace, as it changes; undefined: nothing is asked. */
export function useEntries(domain: string | undefined): KnownEntries {
  const [turn, setTurn] = useState(0)
  const live = useMemo(() => new LiveEntries(), [domain])
  const draw = useAnimationFrame()
  const watched = useWatch(
    () =>
      domain === undefined
        ? undefined
        : openStream<Change>(
            'registry',
            'Registry.Watch',
            { options: { domain } },
            { namespace: '' },
          ),
    (change) => {
      live.apply(change)
      draw()
    },
    [domain],
    // What happened while nobody watched was not told.
    { onStart: () => setTurn((n) => n + 1) },
  )
  const listed = useCall(
    (signal) => {
      // Watched first: nothing is missed.
      if (domain === undefined || turn === 0) return undefined
      return listEntries(domain, signal).then(live.beginList())
    },
    [domain, turn],
  )
  return {
    entries: live.entries,
    error: listed.error ?? (watched.state === 'failed' ? watched.error : undefined),
    state: watched.state,
    reload: () => {
      watched.restart()
      listed.reload()
    },
  }
}

async function listEntries(domain: string, signal: AbortSignal): Promise<Entries> {
  const entries = new Map<string, Entry>()
  let after = ''
  do {
    const { body } = await call<{ services?: readonly Entry[]; next?: string }>(
      'registry',
      'Registry.ListServices',
      { options: { domain }, after },
      { namespace: '', signal },
    )
    for (const entry of body.services ?? []) entries.set(keyOf(entry), entry)
    after = body.next ?? ''
  } while (after !== '')
  return entries
}
