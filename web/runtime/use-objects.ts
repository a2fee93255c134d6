import { type CallState, useCall, useWatch, type WatchState } from '../hooks/use-call.ts'
import { useDebounce } from '../hooks/use-debounce.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call, openStream } from '../rpc/caller.ts'
import { namespace } from '../state/session.ts'
import { compareObjects, type RuntimeObject } from './objects.ts'

/** Which runtime objects; empty: all. */
export interface ObjectFilter {
  readonly service?: string
  readonly version?: string
}

/** Changes come in numbers: they are read once for all of that time. */
const SOON_MS = 200
/** That a server gives no sign of life any more is no change. */
const REFRESH_MS = 15_000

/**
 * The runtime objects of the namespace, by name and version, read again after every change.
 *
 * What is shown is what `Runtime.Read` tells, for it knows what changes do not tell: servers that are away.
 */
export function useObjects(wanted: ObjectFilter = {}): CallState<readonly RuntimeObject[]> & {
  readonly watch: WatchState
} {
  const { service = '', version = '' } = wanted
  const deps = [namespace.value, service, version]
  const options = { service, version }
  const read = useCall(async (signal) => {
    type Reply = { readonly services: readonly RuntimeObject[] }
    const { body } = await call<Reply>('runtime', 'Runtime.Read', { options }, { signal })
    return body.services.toSorted(compareObjects)
  }, deps)
  usePolling(read, REFRESH_MS)
  const reloadSoon = useDebounce(read.reload, SOON_MS)
  // Of all names: the watch of one that is gone would end, and not tell when it comes back.
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
