import type { EventRange, StoredEvent } from '../../../core/contracts/events.ts'
import { findSequence, type LogMark, sizeOfContent } from './index.ts'
import type { LogSlice } from './log.ts'

/** Maximum number of events read per tick. */
const MAX_READ = 1000

/** Events of a topic in a log. */
export interface LogReader {
  readonly first: number
  readonly last: number
  readonly readMark: (sequence: number) => LogMark
  /** Iterates over the events, starting at an existing sequence. */
  readonly walk: (from: number) => Iterable<StoredEvent>
}

/** Reads part of a range, which is located by binary search. */
export function readSlice(
  { first, last, readMark, walk }: LogReader,
  { from, sinceMs, limit, maxBytes }: EventRange,
): LogSlice {
  const events: StoredEvent[] = []
  let start = Math.max(from, first)
  if (sinceMs !== undefined && start <= last)
    start = findSequence(start, last, (sequence) => readMark(sequence).highestMs >= sinceMs)
  let end = start
  if (start > last) return { events, end, next: undefined }
  let bytes = 0
  for (const event of walk(start)) {
    end = event.sequence + 1
    if (sinceMs === undefined || event.timestampMs >= sinceMs) {
      events.push(event)
      bytes += sizeOfContent(event)
    }
    if (events.length === limit || bytes >= maxBytes || end - start === MAX_READ)
      return { events, end, next: end <= last ? end : undefined }
  }
  return { events, end, next: undefined }
}
