import type { StoreEvent, StoreTable } from '../../core/contracts/store.ts'
import { SharedPlaces } from '../../core/limits/shared-places.ts'
import type { Store } from '../../domain/store/store.ts'
import { unavailable } from '../../sdk/errors.ts'
import { createEventFeed, type EventFeed } from '../../sdk/events/event-feed.ts'
import { type RecordMessage, toMessage } from './records.ts'

/** A change as watchers are told it. */
export interface WatchEvent {
  readonly action: StoreEvent['type']
  readonly key: string
  /** What is there now; absent: nothing. */
  readonly record?: RecordMessage
}

export interface WatchesOptions {
  readonly store: Store
  /** Watchers at a time. */
  readonly maxWatchers: number
  /** Keys that may wait for one watcher. @default 10000 */
  readonly maxWaiting?: number
  readonly nowMs: () => number
}

/** What is watched. */
export interface WatchTarget {
  readonly table: StoreTable
  readonly prefix: string
}

/** Those who watch. */
export interface Watches {
  /**
   * Begins to watch: of each key what is there when its watcher takes it, not every write on the way.
   *
   * @param onStart called once changes are noticed.
   * @param id of errors.
   * @throws {GatewayError} 429 when there are too many watchers, 503 when the service is being stopped.
   */
  readonly open: (
    target: WatchTarget,
    id: string,
    onStart: () => void,
  ) => AsyncIterableIterator<WatchEvent>
  /** How many there are. */
  readonly count: () => number
  /** Ends all streams, with an error 503, and takes no more watchers. */
  readonly close: () => void
}

const STOPPING = 'the store is being stopped'

export function createWatches(options: WatchesOptions): Watches {
  const { store, maxWatchers, maxWaiting = 10_000, nowMs } = options
  const feeds = new Set<EventFeed<StoreEvent>>()
  const places = new SharedPlaces(maxWatchers, 'watchers')
  let closed = false

  /** Only keys wait: whatever their values are, a slow watcher takes little memory. */
  async function toEvent({ type, table, key }: StoreEvent): Promise<WatchEvent | undefined> {
    if (type === 'delete') return { action: type, key }
    const record = await store.read(table, key)
    // It went in the meantime: that is a change of its own.
    return record && { action: type, key, record: toMessage(record, nowMs()) }
  }

  return {
    open({ table, prefix }, id, onStart) {
      if (closed) throw unavailable(id, STOPPING)
      const leave = places.enter(table.database, id)
      let stop = (): void => {}
      const feed: EventFeed<StoreEvent> = createEventFeed({
        id,
        maxWaiting,
        onClose: () => {
          stop()
          leave()
          feeds.delete(feed)
        },
      })
      feeds.add(feed)
      const onMissedEvents = (): void =>
        feed.fail(
          unavailable(id, 'changes may have been missed; watch again and read what is there'),
        )
      store
        .watch(table, prefix, { onEvent: (event) => feed.push(event.key, event), onMissedEvents })
        .then((stopWatching) => {
          stop = stopWatching
          if (feeds.has(feed)) onStart()
          else stop()
        }, feed.fail)
      return {
        async next() {
          for (;;) {
            const { done, value } = await feed.next()
            if (done === true) return { done, value: undefined }
            const event = await toEvent(value)
            if (event !== undefined) return { done: false, value: event }
          }
        },
        return: () => feed.return!() as Promise<IteratorResult<WatchEvent>>,
        [Symbol.asyncIterator]() {
          return this
        },
      }
    },

    count: () => feeds.size,

    close() {
      closed = true
      for (const feed of feeds) feed.end(STOPPING)
    },
  }
}
