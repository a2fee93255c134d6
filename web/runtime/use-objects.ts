import { type CallState, useCall, useWatch, type WatchState } from '../hooks/use-call.ts'
import { useDebounce } from '../hooks/use-debounce.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call, openStream } from '../rpc/caller.ts'
import { namespace } from '../state/session.ts'
import { compareObjects, type RuntimeObject } from './objects.ts'

/** Filter for runtime objects; empty fields select all. */
export interface ObjectFilter {
  readonly service?: string
  readonly version?: string
}

/** Changes arrive in bursts, and each burst causes a single read. */
const DEBOUNCE_MS = 200
/** Refresh interval, because lost servers are not reported as a change. */
const REFRESH_MS = 15_000

/**
 * Loads the runtime objects of the namespace, ordered by name and version, and reloads them after every change.
 *
 * Uses `Runtime.Read`, because changes do not report unreachable servers.
 */
export function useObjects(filter: ObjectFilter = {}): CallState<readonly RuntimeObject[]> & {
  readonly watch: WatchState
} {
  const { service = '', version = '' } = filter
  const deps = [namespace.value, service, version]
  const options = { service, version }
  const read = useCall(async (signal) => {
    type Response = { readonly services: readonly RuntimeObject[] }
    const { body } = await call<Response>('runtime', 'Runtime.Read', { options }, { signal })
    return body.services.toSorted(compareObjects)
  }, deps)
  usePolling(read, REFRESH_MS)
  const reloadSoon = useDebounce(read.reload, DEBOUNCE_MS)
  // Watches all names, because a watch of a single object ends when the object is deleted and would miss its return.
  const watch = useWatch<{ readonly service: RuntimeObject }>(
    () => openStream('runtime', 'Runtime.Watch', {}),
    (change) => {
      if (service === '' || change.service.name === service) reloadSoon()
    },
    [namespace.value],
    { onLive: reloadSoon },
  )
  return { ...read, watch }
}
