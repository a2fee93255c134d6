import type { ConsumerConfig } from '@nats-io/jetstream'
import type { EventStart } from '../../../../core/contracts/events.ts'
import { AHEAD_MS } from '../append.ts'
import type { TopicNames } from '../names.ts'
import type { Session } from '../session.ts'

/** Start position of a consumer. */
export type ConsumerStart = Pick<
  ConsumerConfig,
  'deliver_policy' | 'opt_start_seq' | 'opt_start_time'
>

/** Starts at a sequence. The server reduces a sequence beyond the end of the stream to its end. */
export function fromSequence(sequence: number): ConsumerStart {
  return { deliver_policy: 'by_start_sequence', opt_start_seq: sequence }
}

/**
 * Returns the start position of a new group. The position is fixed, so no events are skipped if the
 * server loses the consumer.
 */
export async function toConsumerStart(
  session: Session,
  names: TopicNames,
  { sequence, sinceMs }: EventStart,
  nowMs: number,
): Promise<ConsumerStart> {
  if (sequence !== undefined) return fromSequence(sequence)
  if (sinceMs !== undefined) return fromTime(session, names, sinceMs, nowMs)
  const { state } = await session.streams.info(names.stream)
  return fromSequence(state.last_seq + 1)
}

/**
 * Starts before all events with this or a later timestamp. The server searches by storage time,
 * which follows the timestamp except for clock differences. Events with a timestamp in the future are
 * found by their subject.
 */
export async function fromTime(
  { streams }: Session,
  { stream, aheadSubject }: TopicNames,
  sinceMs: number,
  nowMs: number,
): Promise<ConsumerStart> {
  const query = { seq: 1, next_by_subj: aheadSubject }
  const ahead = await streams.getMessage(stream, query)
  // Subtracts `AHEAD_MS` twice: once for events ahead by less than `AHEAD_MS`, which have no
  // separate subject, and once for clock differences.
  const startMs = Math.min(sinceMs, nowMs) - 2 * AHEAD_MS
  if (ahead !== null && ahead.time.getTime() < startMs) return fromSequence(ahead.seq)
  return { deliver_policy: 'by_start_time', opt_start_time: new Date(startMs).toISOString() }
}
