import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventsAdapter, EventTopic, StoredEvent } from '../../core/contracts/events.ts'
import { checkNumber, checkStart } from './checks.ts'

/** Which events to read. */
export interface EventQuery {
  /** First sequence. @default the first there is */
  readonly sequence?: number
  /** Leaves out events with an earlier timestamp, milliseconds since 1970. @default none */
  readonly sinceMs?: number
  /** Most events of the page; 0, like more than a page holds: as many as that. @default 250 */
  readonly limit?: number
}

/** Part of what was asked for. */
export interface EventPage {
  /** By timestamp, then by sequence; which of them make the page goes by their sequences. */
  readonly events: readonly StoredEvent[]
  /** The sequence the next page begins with; absent: there is none. */
  readonly next?: number
}

/** Events of a page. */
const MAX_PAGE = 1000
/** Events of a page when nobody says how many. */
const DEFAULT_PAGE = 250
/** Bytes about which a page has as JSON, payloads in base64: messages are at most 16 MiB. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024
/** Bytes read at a time: metadata may be six times as long as JSON. */
const MAX_READ_BYTES = 1024 * 1024

/**
 * Reads a page. What is left out, by time, is gone through a part at a time, each in a turn of the event loop.
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
    if (slice.events.length === 0) await nextTurn()
  }
}

/** By when they happened, then by their places in the topic. */
function compareEvents(a: StoredEvent, b: StoredEvent): number {
  return a.timestampMs - b.timestampMs || a.sequence - b.sequence
}

/** About what an event is as JSON. */
function toBytes({ payload, metadata }: StoredEvent): number {
  let chars = 0
  for (const name in metadata) chars += name.length + metadata[name]!.length
  // A control character is six, `\u0001`; three bytes are four.
  return chars * 6 + Math.ceil(payload.length / 3) * 4
}
