import type { RegistryEvent } from '../../core/contracts/registry.ts'
import { createWatchHub } from '../../sdk/events/watch-hub.ts'
import type { Domains } from './domains.ts'
import { type ServiceEntry, toEntry } from './entry.ts'
import { type LeaveOut, truncateToMessage } from './fit-message.ts'

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
  /** Told of each change that is too long for a message. */
  readonly leaveOut: LeaveOut
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
   * @param caller namespace of the caller; empty: anonymous.
   * @param id of errors.
   * @throws {GatewayError} 429 when there are too many watchers, 503 when the service is being stopped.
   */
  readonly open: (
    domain: string,
    service: string,
    caller: string,
    id: string,
  ) => AsyncIterable<WatchEvent>
  /** How many there are. */
  readonly count: () => number
  /** Whether no more are taken. */
  readonly closed: () => boolean
  /** Ends all streams, and takes no more watchers. */
  readonly close: () => void
}

export function createWatches(options: WatchesOptions): Watches {
  const { domains, maxWatchers, leaveOut, maxWaiting = 20_000, nowMs } = options
  const stopping = 'the registry is being stopped'
  const hub = createWatchHub<WatchEvent>({ maxWatchers, maxWaiting, stopping })
  /** Made once for all who are told: there may be many, and a version may be long. Null: too long. */
  const made = new WeakMap<RegistryEvent, WatchEvent | null>()

  function toWatchEvent(event: RegistryEvent, domain: string): WatchEvent | null {
    const known = made.get(event)
    if (known !== undefined) return known
    const [service] = truncateToMessage([toEntry(event.service, domain)], leaveOut)
    const timestamp = Math.floor(nowMs() / 1000)
    const told = service === undefined ? null : { action: event.type, service, timestamp }
    made.set(event, told)
    return told
  }

  return {
    open: (domain, service, caller, id) =>
      hub.open({ id, namespace: caller }, (feed) =>
        domains.watch(domain, service || undefined, (event, of) => {
          const { name, version } = event.service
          const told = toWatchEvent(event, of)
          if (told !== null) feed.push(`${name} ${version} ${of}`, told)
        }),
      ),

    count: hub.count,
    closed: hub.isClosed,
    close: hub.close,
  }
}
