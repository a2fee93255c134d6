import { type CallState, useCall, useWatch, type WatchState } from '../hooks/use-call.ts'
import { useDebounce } from '../hooks/use-debounce.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call, openStream } from '../rpc/caller.ts'
import { namespace } from '../state/session.ts'
import { compareObjects, type RuntimeObject } from './objects.ts'

/** Filter of runtime objects; empty selects all. */
export interface ObjectFilter {
  readonly service?: string
  readonly version?: string
}

/** Changes arrive in bursts; each burst causes one read. */
const DEBOUNCE_MS = 200
/** Lost servers are not reported as a change. */
const REFRESH_MS = 15_000

/**
 * Runtime objects of the namespace, by name and version, read again after every change.
 *
 * Uses `Runtime.Read`, since changes do not report unreachable servers.
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
  // All names: a watch of one object ends when it is deleted and would miss its return.
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
