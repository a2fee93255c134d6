import type { RequestPoint } from '../../core/metrics/request-history.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { createWatchHub } from '../../sdk/events/watch-hub.ts'
import { type StatsMessage, toPointMessage } from './messages.ts'

export interface StatsFeedsOptions {
  /** Returns recent points, oldest first. */
  readonly points: () => readonly RequestPoint[]
  /** Maximum number of watchers. */
  readonly maxWatchers: number
}

export interface StatsFeeds {
  /**
   * Streams recent points, then each new one.
   *
   * @param seconds number of recent points.
   * @param id id used in errors.
   * @throws {GatewayError} 429 if there are too many watchers, 503 while the service is stopping.
   */
  readonly open: (seconds: number, id: string) => AsyncIterableIterator<StatsMessage>
  readonly publish: (point: RequestPoint) => void
  readonly count: () => number
  /** Ends all streams with 503 and rejects new ones. */
  readonly close: () => void
}

/** Maximum number of pending points for a slow watcher (one minute). */
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

    publish(point) {
      if (hub.count() > 0) hub.publish(String(point.timeMs), { points: [toPointMessage(point)] })
    },

    count: hub.count,
    close: hub.close,
  }
}
