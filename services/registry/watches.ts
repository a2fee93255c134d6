import type { RegistryEvent } from '../../core/contracts/registry.ts'
import { tooManyRequests, unavailable } from '../../sdk/errors.ts'
import { createEventFeed, type EventFeed } from '../../sdk/event-feed.ts'
import type { Domains } from './domains.ts'
import { type ServiceEntry, toEntry } from './entry.ts'

/** A change as watchers are told it; `service` is the state after it. */
export interface WatchEvent {
  readonly action: RegistryEvent['type']
  readonly service: ServiceEntry
  /** Seconds since 1970. */
  readonly timestamp: number
}

export interface WatchesOptions {
  readonly domains: Domains
  /** Watchers at a time. */
  readonly maxWatchers: number
  /** Changes that may wait for one watcher. @default 20000 */
  readonly maxWaiting?: number
  /** Milliseconds since 1970. */
  readonly nowMs: () => number
}

/** Those who watch. */
export interface Watches {
  /**
   * Begins to watch: what happens from now on is told, in each version's order.
   *
   * @param domain name of one, or `*`.
   * @param service full name of the only one of interest; empty: all.
   * @param id of errors.
   * @throws {GatewayError} 429 when there are too many watchers, 503 when the service is being stopped.
   */
  readonly open: (domain: string, service: string, id: string) => AsyncIterable<WatchEvent>
  /** How many there are. */
  readonly count: () => number
  /** Ends all streams, and takes no more watchers. */
  readonly close: () => void
}

export function createWatches(options: WatchesOptions): Watches {
  const { domains, maxWatchers, maxWaiting = 20_000, nowMs } = options
  const feeds = new Set<EventFeed<WatchEvent>>()
  let closed = false

  return {
    open(domain, service, id) {
      if (closed) throw unavailable(id, 'the registry is being stopped')
      if (feeds.size >= maxWatchers)
        throw tooManyRequests(id, `there are ${maxWatchers} watchers already`)
      const feed: EventFeed<WatchEvent> = createEventFeed({
        id,
        maxWaiting,
        onClose: () => {
          stop()
          feeds.delete(feed)
        },
      })
      const stop = domains.watch(domain, service || undefined, ({ type, service }, of) => {
        feed.push(`${service.name} ${service.version} ${of}`, {
          action: type,
          service: toEntry(service, of),
          timestamp: Math.floor(nowMs() / 1000),
        })
      })
      feeds.add(feed)
      return feed
    },

    count: () => feeds.size,

    close() {
      closed = true
      for (const feed of feeds) feed.end()
    },
  }
}
