import { useMemo, useRef, useState } from 'preact/hooks'
import { type CallState, useCall, useWatch, type WatchState } from '../hooks.ts'
import { call, openStream } from '../rpc/caller.ts'
import { useFrames } from '../use-frames.ts'
import { applyChanges, type Change, type Entries, type Entry, keyOf } from './service-rows.ts'

interface Listed {
  readonly entries: Entries
  /** What has changed since it began to be listed. */
  readonly changes: Change[]
}

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
  const latest = useRef<Change[]>([])
  const draw = useFrames()
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
      latest.current.push(change)
      if (listed.value !== undefined && listed.value.changes !== latest.current)
        listed.value.changes.push(change)
      draw()
    },
    [domain],
    // What happened while nobody watched was not told.
    { onStart: () => setTurn((n) => n + 1) },
  )
  const listed = useCall<Listed>(
    (signal) => {
      // Watched first: nothing is missed.
      if (domain === undefined || turn === 0) return undefined
      const changes: Change[] = []
      latest.current = changes
      return listEntries(domain, signal).then((entries) => ({ entries, changes }))
    },
    [domain, turn],
  )
  const { value } = listed
  const count = value?.changes.length ?? 0
  const entries = useMemo(
    () => (value === undefined ? undefined : applyChanges(value.entries, value.changes)),
    [value, count],
  )
  return {
    entries,
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
