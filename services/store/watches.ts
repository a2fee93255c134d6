import type { StoreEvent, StoreTable } from '../../core/contracts/store.ts'
import type { Store } from '../../domain/store/store.ts'
import { unavailable } from '../../sdk/errors.ts'
import { createWatchHub, mapFeed } from '../../sdk/events/watch-hub.ts'
import { type RecordMessage, toMessage } from './records.ts'

export interface WatchEvent {
  readonly action: StoreEvent['type']
  readonly key: string
  /** Current record; absent if the record was deleted. */
  readonly record?: RecordMessage
}

export interface WatchesOptions {
  readonly store: Store
  /** Maximum number of watchers. */
  readonly maxWatchers: number
  /** Maximum number of pending keys per watcher. @default 10000 */
  readonly maxWaiting?: number
  readonly nowMs: () => number
}

export interface WatchTarget {
  readonly table: StoreTable
  readonly prefix: string
}

export interface Watches {
  /**
   * Streams the latest state of each changed key. A slow watcher skips intermediate writes.
   *
   * @param onStart called once changes are observed.
   * @param id id used in errors.
   * @throws {GatewayError} 429 if there are too many watchers, 503 while the service is stopping.
   */
  readonly open: (
    target: WatchTarget,
    id: string,
    onStart: () => void,
  ) => AsyncIterableIterator<WatchEvent>
  /** Returns the number of watchers. */
  readonly count: () => number
  /** Ends all streams with 503 and rejects new ones. */
  readonly close: () => void
}

export function createWatches(options: WatchesOptions): Watches {
  const { store, maxWatchers, maxWaiting = 10_000, nowMs } = options
  const stopping = 'the store is stopping'
  const hub = createWatchHub<StoreEvent>({ maxWatchers, maxWaiting, stopping })

  /**
   * Reads the record of a queued key. Only keys are queued, so that a slow watcher needs little
   * memory for values of any size.
   */
  async function toEvent({ type, table, key }: StoreEvent): Promise<WatchEvent | undefined> {
    if (type === 'delete') return { action: type, key }
    const record = await store.read(table, key)
    // The record was deleted in the meantime, which is published as a separate change.
    return record && { action: type, key, record: toMessage(record, nowMs()) }
  }

  return {
    open({ table, prefix }, id, onStart) {
      const onMissedEvents = (): void =>
        feed.fail(
          unavailable(id, 'changes may have been missed; watch again and re-read the records'),
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
