import type { ConsumerConfig } from '@nats-io/jetstream'
import type { EventStart } from '../../../../core/contracts/events.ts'
import { AHEAD_MS } from '../append.ts'
import type { TopicNames } from '../names.ts'
import type { Session } from '../session.ts'

/** Where a consumer begins, as the server wants it. */
export type ConsumerStart = Pick<
  ConsumerConfig,
  'deliver_policy' | 'opt_start_seq' | 'opt_start_time'
>

/** A consumer that begins with a sequence. The server has one that is ahead of the stream begin where that ends. */
export function fromSequence(sequence: number): ConsumerStart {
  return { deliver_policy: 'by_start_sequence', opt_start_seq: sequence }
}

/** Where a group begins that is not there yet: always at a fixed place, so that one that is forgotten by the server does not begin with what comes. */
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
 * A consumer that begins before every event with this timestamp or a later one. The server goes by when events were stored, which is
 * after their timestamps, give or take what clocks differ by: those that were ahead of their time are found by their subject.
 */
export async function fromTime(
  { streams }: Session,
  { stream, aheadSubject }: TopicNames,
  sinceMs: number,
  nowMs: number,
): Promise<ConsumerStart> {
  const query = { seq: 1, next_by_subj: aheadSubject }
  const ahead = await streams.getMessage(stream, query)
  // Twice: once for what is not published as ahead, once for clocks.
  const startMs = Math.min(sinceMs, nowMs) - 2 * AHEAD_MS
  if (ahead !== null && ahead.time.getTime() < startMs) return fromSequence(ahead.seq)
  return { deliver_policy: 'by_start_time', opt_start_time: new Date(startMs).toISOString() }
}
