import { SharedPlaces } from '../../core/limits/shared-places.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { unavailable } from '../errors.ts'
import { createEventFeed, type EventFeed } from './event-feed.ts'

export interface WatchHubOptions {
  /** Maximum number of watchers, shared fairly among namespaces. */
  readonly maxWatchers: number
  /** Maximum number of buffered keys per watcher. */
  readonly maxWaiting: number
  /** Error detail for streams that end because the service stops. */
  readonly stopping: string
}

/** The watchers of a service. */
export interface WatchHub<E> {
  /**
   * Adds a watcher.
   *
   * @param watcher error id, and namespace of the watcher (empty if anonymous).
   * @param subscribe starts pushing events into the feed and returns a function that stops it. A later failure becomes
   * the error of the watcher.
   * @param onStart called when the subscription has started, unless the watcher has left.
   * @throws {GatewayError} 429 if there are too many watchers, 503 if the service is stopping.
   */
  readonly open: (
    watcher: { readonly id: string; readonly namespace: string },
    subscribe: (feed: EventFeed<E>) => Maybe<() => void>,
    onStart?: () => void,
  ) => EventFeed<E>
  /** Sends an event to all watchers. */
  readonly publish: (key: string, event: E) => void
  readonly count: () => number
  readonly isClosed: () => boolean
  /** Ends all streams with a 503 error and rejects new watchers. */
  readonly close: () => void
}

export function createWatchHub<E>(options: WatchHubOptions): WatchHub<E> {
  const { maxWatchers, maxWaiting, stopping } = options
  const feeds = new Set<EventFeed<E>>()
  const watcherSlots = new SharedPlaces(maxWatchers, 'watchers')
  let closed = false

  return {
    open({ id, namespace }, subscribe, onStart) {
      if (closed) throw unavailable(id, stopping)
      const leave = watcherSlots.enter(namespace, id)
      let stop = (): void => {}
      const onClose = (): void => {
        stop()
        leave()
        feeds.delete(feed)
      }
      const feed: EventFeed<E> = createEventFeed({ id, maxWaiting, onClose })
      feeds.add(feed)
      const onSubscribed = (unsubscribe: () => void): void => {
        if (!feeds.has(feed)) return unsubscribe()
        stop = unsubscribe
        onStart?.()
      }
      try {
        const subscribed = subscribe(feed)
        if (subscribed instanceof Promise) subscribed.then(onSubscribed, feed.fail)
        else onSubscribed(subscribed)
      } catch (error) {
        feed.fail(error as Error)
        throw error
      }
      return feed
    },

    publish(key, event) {
      for (const feed of feeds) feed.push(key, event)
    },

    count: () => feeds.size,
    isClosed: () => closed,

    close() {
      closed = true
      for (const feed of feeds) feed.end(stopping)
    },
  }
}

/** Maps each event of a feed with `read`, skipping undefined results. */
export function mapFeed<E, T>(
  feed: EventFeed<E>,
  read: (event: E) => Promise<T | undefined>,
): AsyncIterableIterator<T> {
  return {
    async next() {
      for (;;) {
        const { done, value } = await feed.next()
        if (done === true) return { done, value: undefined }
        try {
          const result = await read(value)
          if (result !== undefined) return { done: false, value: result }
        } catch (error) {
          feed.fail(error as Error)
          throw error
        }
      }
    },
    return: () => feed.return!() as Promise<IteratorResult<T>>,
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
