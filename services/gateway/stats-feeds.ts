import type { RequestPoint } from '../../core/metrics/request-history.ts'
import { tooManyRequests, unavailable } from '../../sdk/errors.ts'
import { createEventFeed, type EventFeed } from '../../sdk/events/event-feed.ts'
import { type StatsMessage, toPointMessage } from './messages.ts'

export interface StatsFeedsOptions {
  /** What there is already, the oldest first. */
  readonly points: () => readonly RequestPoint[]
  /** Watchers at a time. */
  readonly maxWatchers: number
}

/** Those who watch the numbers of the gateway. */
export interface StatsFeeds {
  /**
   * Begins to watch: the last points, then each one as it comes.
   *
   * @param seconds how many points at first.
   * @param id of errors.
   * @throws {GatewayError} 429 when there are too many watchers, 503 when the service is being stopped.
   */
  readonly open: (seconds: number, id: string) => AsyncIterableIterator<StatsMessage>
  readonly tell: (point: RequestPoint) => void
  /** How many there are. */
  readonly count: () => number
  /** Ends all streams, with an error 503, and takes no more watchers. */
  readonly close: () => void
}

/** Points that may wait for a slow watcher: a minute. */
const MAX_WAITING = 60
const STOPPING = 'the server is stopping'

export function createStatsFeeds({ points, maxWatchers }: StatsFeedsOptions): StatsFeeds {
  const feeds = new Set<EventFeed<StatsMessage>>()
  let closed = false

  return {
    open(seconds, id) {
      if (closed) throw unavailable(id, STOPPING)
      if (feeds.size >= maxWatchers)
        throw tooManyRequests(id, `there are ${maxWatchers} watchers already`)
      const feed: EventFeed<StatsMessage> = createEventFeed({
        id,
        maxWaiting: MAX_WAITING,
        onClose: () => feeds.delete(feed),
      })
      feeds.add(feed)
      const first = seconds === 0 ? [] : points().slice(-seconds)
      feed.push('first', { points: first.map(toPointMessage) })
      return feed
    },

    tell(point) {
      if (feeds.size === 0) return
      const message = { points: [toPointMessage(point)] }
      for (const feed of feeds) feed.push(String(point.timeMs), message)
    },

    count: () => feeds.size,

    close() {
      closed = true
      for (const feed of [...feeds]) feed.end(STOPPING)
    },
  }
}
