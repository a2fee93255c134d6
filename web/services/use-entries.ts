import { useMemo, useState } from 'preact/hooks'
import { useAnimationFrame } from '../hooks/use-animation-frame.ts'
import { type CallState, useCall, useWatch, type WatchState } from '../hooks/use-call.ts'
import { call, openStream } from '../rpc/caller.ts'
import { LiveEntries } from './live-entries.ts'
import { type Change, type Entries, type Entry, keyOf } from './service-rows.ts'

export interface EntriesState {
  /** Entries; undefined before the first response. */
  readonly entries: Entries | undefined
  readonly error: CallState<unknown>['error']
  readonly state: WatchState['state']
  readonly reload: () => void
}

/** Live registry entries of a namespace. @param domain namespace; undefined disables the requests. */
export function useEntries(domain: string | undefined): EntriesState {
  const [revision, setRevision] = useState(0)
  const live = useMemo(() => new LiveEntries(), [domain])
  const refresh = useAnimationFrame()
  const watch = useWatch(
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
      refresh()
    },
    [domain],
    // Changes before the start of the watch were not received.
    { onStart: () => setRevision((n) => n + 1) },
  )
  const list = useCall(
    (signal) => {
      // Lists entries after the watch has started, so that no change is missed.
      if (domain === undefined || revision === 0) return undefined
      return listEntries(domain, signal).then(live.startList())
    },
    [domain, revision],
  )
  return {
    entries: live.entries,
    error: list.error ?? (watch.state === 'failed' ? watch.error : undefined),
    state: watch.state,
    reload: () => {
      watch.restart()
      list.reload()
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
