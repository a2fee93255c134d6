import type { Maybe } from '../../lib/async/maybe.ts'
import { createEventFeed } from '../../sdk/events/event-feed.ts'

/** Something that changes. */
export interface Followed<T> {
  readonly read: () => Maybe<T>
  /** Begins to call `onUpdate` after each change, and returns what ends that. */
  readonly watch: (onUpdate: () => void) => Maybe<() => void>
}

/** What waits is one thing: that something is new. */
const NEWS = 'news'

/** What there is, at once and each time there is something new. */
export async function* follow<T>(
  signal: AbortSignal,
  { read, watch }: Followed<T>,
): AsyncIterable<T> {
  let stop = (): void => {}
  const stopOnce = (): void => {
    const once = stop
    stop = () => {}
    once()
  }
  const feed = createEventFeed<undefined>({ id: 'auth', maxWaiting: 1, onClose: stopOnce })
  const onUpdate = (): void => feed.push(NEWS, undefined)
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
