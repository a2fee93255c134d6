import type { Maybe } from '../../lib/async/maybe.ts'
import { createEventFeed } from '../../sdk/events/event-feed.ts'

/** A value that can change. */
export interface Observable<T> {
  readonly read: () => Maybe<T>
  /** Calls `onUpdate` after each change, until the returned function is called. */
  readonly watch: (onUpdate: () => void) => Maybe<() => void>
}

// Updates coalesce: a single pending entry means that the value has changed.
const UPDATE = 'update'

/** Yields the value immediately and after each change. */
export async function* streamValue<T>(
  signal: AbortSignal,
  { read, watch }: Observable<T>,
): AsyncIterable<T> {
  let stop = (): void => {}
  const stopOnce = (): void => {
    const once = stop
    stop = () => {}
    once()
  }
  const feed = createEventFeed<undefined>({ id: 'auth', maxWaiting: 1, onClose: stopOnce })
  const onUpdate = (): void => feed.push(UPDATE, undefined)
  const end = (): void => void feed.return!()
  signal.addEventListener('abort', end)
  try {
    stop = await watch(onUpdate)
    if (signal.aborted) return
    onUpdate()
    for await (const _ of feed) yield await read()
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', end)
    stopOnce()
  }
}
