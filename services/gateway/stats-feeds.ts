import type { RequestPoint } from '../../core/metrics/request-history.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { createWatchHub } from '../../sdk/events/watch-hub.ts'
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

export function createStatsFeeds({ points, maxWatchers }: StatsFeedsOptions): StatsFeeds {
  const stopping = 'the server is stopping'
  const hub = createWatchHub<StatsMessage>({ maxWatchers, maxWaiting: MAX_WAITING, stopping })

  return {
    open(seconds, id) {
      const first = seconds === 0 ? [] : points().slice(-seconds)
      const feed = hub.open({ id, namespace: DEFAULT_DOMAIN }, () => () => {})
      feed.push('first', { points: first.map(toPointMessage) })
      return feed
    },

    tell(point) {
      if (hub.count() > 0) hub.publish(String(point.timeMs), { points: [toPointMessage(point)] })
    },

    count: hub.count,
    close: hub.close,
  }
}
