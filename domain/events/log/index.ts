import type { EventRetention, NewEvent } from '../../../core/contracts/events.ts'

/**
 * Index entry of an event. Its fields never decrease from one event to the next, which allows
 * binary search.
 */
export interface LogMark {
  /** Time of appending, Unix time in milliseconds. */
  readonly storedMs: number
  /** Highest timestamp of all events up to this one. */
  readonly highestMs: number
  /** Total size of all earlier events of the topic, including removed ones. */
  readonly startBytes: number
}

export interface LogEnd {
  /** Sequence of the newest event, even if removed; 0 if there has been no event. */
  readonly last: number
  readonly storedMs: number
  readonly highestMs: number
  /** Total size of all events, including removed ones. */
  readonly bytes: number
}

/** End of a log without events. */
export const NO_EVENTS: LogEnd = { last: 0, storedMs: 0, highestMs: 0, bytes: 0 }
/** Approximate overhead in bytes of a stored event, in addition to its metadata and payload. */
const EVENT_BYTES = 128
/** Maximum number of events removed at a time. */
export const MAX_REMOVED = 1000
const WEEK_MS = 7 * 24 * 60 * 60 * 1000

/** Creates the index entry of an appended event. */
export function toMark(end: LogEnd, { timestampMs }: NewEvent, nowMs: number): LogMark {
  return {
    // A clock that has been set back must not make events younger.
    storedMs: Math.max(end.storedMs, nowMs),
    highestMs: Math.max(end.highestMs, timestampMs),
    startBytes: end.bytes,
  }
}

/** Returns the end of a log after an event was appended. */
export function toEnd(end: LogEnd, { storedMs, highestMs }: LogMark, event: NewEvent): LogEnd {
  return { last: end.last + 1, storedMs, highestMs, bytes: end.bytes + sizeOfEvent(event) }
}

/** Returns the approximate stored size of an event in bytes. */
export function sizeOfEvent(event: NewEvent): number {
  return EVENT_BYTES + sizeOfContent(event)
}

/** Returns the size of payload and metadata in bytes. */
export function sizeOfContent({ metadata, payload }: NewEvent): number {
  let size = payload.length
  for (const name in metadata) size += name.length + metadata[name]!.length
  return size
}

/**
 * Returns the first sequence that matches, or `last + 1` if none matches (binary search). All
 * sequences after a match must match, too.
 */
export function findSequence(
  first: number,
  last: number,
  matches: (sequence: number) => boolean,
): number {
  let low = first
  let high = last + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (matches(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/**
 * Returns the idle time after which a topic without events and groups is deleted: twice the maximum
 * age, which is two weeks by default.
 */
export function toForgetMs({ maxAgeMs }: EventRetention): number {
  return 2 * (maxAgeMs || WEEK_MS)
}

/** Result of applying retention to a log. */
export interface Retention {
  /** New first sequence, at most 1000 events after the current one. */
  readonly first: number
  /** Whether more events must be removed. */
  readonly more: boolean
}

/** Determines which events must be removed. */
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
  const isRetained = (sequence: number): boolean => isYoung(sequence) && fits(sequence)
  // In the common case, a single check is sufficient.
  if (first > last || isRetained(first)) return { first, more: false }
  const firstRetained = findSequence(first, last, isRetained)
  return {
    first: Math.min(firstRetained, first + MAX_REMOVED),
    more: firstRetained > first + MAX_REMOVED,
  }
}
