import { setImmediate as nextTick } from 'node:timers/promises'
import type { EventsAdapter, EventTopic, StoredEvent } from '../../core/contracts/events.ts'
import { checkNumber, checkStart } from './checks.ts'

export interface EventQuery {
  /** First sequence. @default the first available sequence */
  readonly sequence?: number
  /** Omits events with an earlier timestamp, Unix time in milliseconds. @default none */
  readonly sinceMs?: number
  /** Page size. 0 or a larger value means the maximum. @default 250 */
  readonly limit?: number
}

export interface EventPage {
  /** Events sorted by timestamp, then by sequence. Pages are divided by sequence. */
  readonly events: readonly StoredEvent[]
  /** First sequence of the next page; absent on the last page. */
  readonly next?: number
}

/** Maximum page size. */
const MAX_PAGE = 1000
/** Default page size. */
const DEFAULT_PAGE = 250
/**
 * Approximate maximum size in bytes of a page as JSON, with payloads in base64. Messages are
 * limited to 16 MiB.
 */
const MAX_PAGE_BYTES = 8 * 1024 * 1024
/** Maximum bytes per read, because metadata may be six times as long in JSON. */
const MAX_READ_BYTES = 1024 * 1024

/**
 * Reads a page. Events that are skipped by time are read in batches, one per tick.
 *
 * @throws {GatewayError} 400
 */
export async function readEvents(
  adapter: Pick<EventsAdapter, 'read'>,
  topic: EventTopic,
  query: EventQuery,
): Promise<EventPage> {
  const { sequence = 1, sinceMs, limit = DEFAULT_PAGE } = query
  const since = sinceMs === undefined ? {} : { sinceMs }
  checkStart({ sequence, ...since })
  checkNumber('limit', limit, 0, Number.MAX_SAFE_INTEGER)
  const most = Math.min(limit || MAX_PAGE, MAX_PAGE)
  const events: StoredEvent[] = []
  let from = sequence
  let bytes = 0
  for (;;) {
    const slice = await adapter.read(topic, {
      from,
      limit: most - events.length,
      maxBytes: MAX_READ_BYTES,
      ...since,
    })
    for (const event of slice.events) {
      events.push(event)
      bytes += toBytes(event)
    }
    const { next } = slice
    if (next === undefined) return { events: events.sort(compareEvents) }
    if (events.length === most || bytes >= MAX_PAGE_BYTES)
      return { events: events.sort(compareEvents), next }
    from = next
    if (slice.events.length === 0) await nextTick()
  }
}

/** Compares events by timestamp, then by sequence. */
function compareEvents(a: StoredEvent, b: StoredEvent): number {
  return a.timestampMs - b.timestampMs || a.sequence - b.sequence
}

/** Returns the approximate size of an event as JSON. */
function toBytes({ payload, metadata }: StoredEvent): number {
  let chars = 0
  for (const name in metadata) chars += name.length + metadata[name]!.length
  // A control character takes six bytes (`\u0001`); base64 takes four bytes for three.
  return chars * 6 + Math.ceil(payload.length / 3) * 4
}
