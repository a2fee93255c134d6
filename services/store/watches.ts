import type { StoreEvent, StoreTable } from '../../core/contracts/store.ts'
import type { Store } from '../../domain/store/store.ts'
import { unavailable } from '../../sdk/errors.ts'
import { createWatchHub, mapFeed } from '../../sdk/events/watch-hub.ts'
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

export function createWatches(options: WatchesOptions): Watches {
  const { store, maxWatchers, maxWaiting = 10_000, nowMs } = options
  const stopping = 'the store is being stopped'
  const hub = createWatchHub<StoreEvent>({ maxWatchers, maxWaiting, stopping })

  /** Only keys wait: whatever their values are, a slow watcher takes little memory. */
  async function toEvent({ type, table, key }: StoreEvent): Promise<WatchEvent | undefined> {
    if (type === 'delete') return { action: type, key }
    const record = await store.read(table, key)
    // It went in the meantime: that is a change of its own.
    return record && { action: type, key, record: toMessage(record, nowMs()) }
  }

  return {
    open({ table, prefix }, id, onStart) {
      const onMissedEvents = (): void =>
        feed.fail(
          unavailable(id, 'changes may have been missed; watch again and read what is there'),
        )
      const onEvent = (event: StoreEvent): void => feed.push(event.key, event)
      const feed = hub.open(
        { id, namespace: table.database },
        () => store.watch(table, prefix, { onEvent, onMissedEvents }),
        onStart,
      )
      return mapFeed(feed, toEvent)
    },

    count: hub.count,
    close: hub.close,
  }
}
