import type { RegistryEvent } from '../../core/contracts/registry.ts'
import { createWatchHub } from '../../sdk/events/watch-hub.ts'
import type { Domains } from './domains.ts'
import { type ServiceEntry, toEntry } from './entry.ts'
import { type ReportOmitted, truncateToMessage } from './fit-message.ts'

/** A watch message. `service` is the state after the change. */
export interface WatchEvent {
  readonly action: RegistryEvent['type']
  readonly service: ServiceEntry
  /** Seconds since 1970. */
  readonly timestamp: number
}

export interface WatchesOptions {
  readonly domains: Domains
  /** Maximum number of watchers. */
  readonly maxWatchers: number
  /** Called for each change that is too large for a message. */
  readonly onOmit: ReportOmitted
  /** Maximum number of pending changes per watcher. @default 20000 */
  readonly maxWaiting?: number
  /** Unix time in milliseconds. */
  readonly nowMs: () => number
}

export interface Watches {
  /**
   * Streams all further changes, in order per version.
   *
   * @param domain name, or `*` for all domains.
   * @param service full name; empty for all services.
   * @param caller namespace of the caller; empty if anonymous.
   * @param id id used in errors.
   * @throws {GatewayError} 429 if there are too many watchers, 503 while the service is stopping.
   */
  readonly open: (
    domain: string,
    service: string,
    caller: string,
    id: string,
  ) => AsyncIterable<WatchEvent>
  /** Returns the number of watchers. */
  readonly count: () => number
  /** Returns whether new watchers are rejected. */
  readonly closed: () => boolean
  /** Ends all streams and rejects new watchers. */
  readonly close: () => void
}

export function createWatches(options: WatchesOptions): Watches {
  const { domains, maxWatchers, onOmit, maxWaiting = 20_000, nowMs } = options
  const stopping = 'the registry is stopping'
  const hub = createWatchHub<WatchEvent>({ maxWatchers, maxWaiting, stopping })
  // Created once for all watchers, because there may be many watchers and large versions. Null if
  // too large.
  const cache = new WeakMap<RegistryEvent, WatchEvent | null>()

  function toWatchEvent(event: RegistryEvent, domain: string): WatchEvent | null {
    const cached = cache.get(event)
    if (cached !== undefined) return cached
    const [service] = truncateToMessage([toEntry(event.service, domain)], onOmit)
    const timestamp = Math.floor(nowMs() / 1000)
    const message = service === undefined ? null : { action: event.type, service, timestamp }
    cache.set(event, message)
    return message
  }

  return {
    open: (domain, service, caller, id) =>
      hub.open({ id, namespace: caller }, (feed) =>
        domains.watch(domain, service || undefined, (event, of) => {
          const { name, version } = event.service
          const message = toWatchEvent(event, of)
          if (message !== null) feed.push(`${name} ${version} ${of}`, message)
        }),
      ),

    count: hub.count,
    closed: hub.isClosed,
    close: hub.close,
  }
}
