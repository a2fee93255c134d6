import type { EventRetention, NewEvent } from '../../../core/contracts/events.ts'

/** What a log notes of each event. None of it ever falls from event to event, so that it can be searched for. */
export interface LogMark {
  /** When the event was appended, milliseconds since 1970. */
  readonly storedMs: number
  /** Highest timestamp of the events up to this one. */
  readonly highestMs: number
  /** Bytes of all events before this one, since the topic began. */
  readonly startBytes: number
}

/** Where a log ends. */
export interface LogEnd {
  /** Sequence of the newest event there ever was; 0: none. */
  readonly last: number
  readonly storedMs: number
  readonly highestMs: number
  /** Bytes of all events there ever were. */
  readonly bytes: number
}

/** The end of a log without events. */
export const NO_EVENTS: LogEnd = { last: 0, storedMs: 0, highestMs: 0, bytes: 0 }
/** What an event takes besides its metadata and payload: about, with what stores it. */
const EVENT_BYTES = 128
/** Events removed at a time. */
export const MAX_REMOVED = 1000
const WEEK_MS = 7 * 24 * 60 * 60 * 1000

/** The mark of an event that is appended. */
export function toMark(end: LogEnd, { timestampMs }: NewEvent, nowMs: number): LogMark {
  return {
    // A clock that was set back does not make events younger.
    storedMs: Math.max(end.storedMs, nowMs),
    highestMs: Math.max(end.highestMs, timestampMs),
    startBytes: end.bytes,
  }
}

/** The end of a log once an event was appended. */
export function toEnd(end: LogEnd, { storedMs, highestMs }: LogMark, event: NewEvent): LogEnd {
  return { last: end.last + 1, storedMs, highestMs, bytes: end.bytes + sizeOfEvent(event) }
}

/** About what an event takes, bytes. */
export function sizeOfEvent(event: NewEvent): number {
  return EVENT_BYTES + sizeOfContent(event)
}

/** Payload and metadata, bytes. */
export function sizeOfContent({ metadata, payload }: NewEvent): number {
  let size = payload.length
  for (const name in metadata) size += name.length + metadata[name]!.length
  return size
}

/** The first sequence for which something holds that holds for all behind it, too; `last + 1` when there is none. */
export function findSequence(
  first: number,
  last: number,
  holds: (sequence: number) => boolean,
): number {
  let low = first
  let high = last + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** How long nothing was appended to a topic without events and groups that is forgotten: as long again as it would have had them, or a fortnight. */
export function toForgetMs({ maxAgeMs }: EventRetention): number {
  return 2 * (maxAgeMs || WEEK_MS)
}

/** What of a log may stay. */
export interface Retention {
  /** The new first sequence: at most 1000 events are removed at a time. */
  readonly first: number
  /** Whether there is more to remove. */
  readonly more: boolean
}

/** Which events have to go. */
export function toRetention(
  first: number,
  { last, bytes }: LogEnd,
  readMark: (sequence: number) => LogMark,
  { maxAgeMs, maxBytes }: EventRetention,
  nowMs: number,
): Retention {
  const isYoung = (sequence: number): boolean =>
    maxAgeMs === 0 || readMark(sequence).storedMs > nowMs - maxAgeMs
  const fits = (sequence: number): boolean =>
    maxBytes === 0 || sequence === last || bytes - readMark(sequence).startBytes <= maxBytes
  const stays = (sequence: number): boolean => isYoung(sequence) && fits(sequence)
  // What mostly is the case is known after one look.
  if (first > last || stays(first)) return { first, more: false }
  const retained = findSequence(first, last, stays)
  return { first: Math.min(retained, first + MAX_REMOVED), more: retained > first + MAX_REMOVED }
}
