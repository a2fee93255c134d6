import type { EventDelivery, EventTopic, NewEvent } from '../../core/contracts/events.ts'
import { toDigestId } from './digest-id.ts'

/** Why an event became a dead letter: rejected by its last consumer, or not acknowledged in time. */
export type DeadReason = 'nack' | 'ack_wait'

/** Suffix of topics of dead letters. */
const SUFFIX = '.dead'
/** Approximate size of the metadata added to a dead letter. */
export const DEAD_METADATA_BYTES = 2048

/** Topic of the dead letters of a topic. */
export function toDeadTopic(topic: string): string {
  return topic + SUFFIX
}

/** Whether a topic contains dead letters: its consumers create none. */
export function isDeadTopic(topic: string): boolean {
  return topic.endsWith(SUFFIX)
}

/** Converts an event to a dead letter with its payload, metadata and origin. Repeated after a crash, it gets the same id. */
export function toDeadLetter(
  { topic }: EventTopic,
  group: string | undefined,
  { event, attempt }: EventDelivery,
  reason: DeadReason,
  nowMs: number,
): NewEvent {
  const { id, sequence, timestampMs, metadata, payload } = event
  return {
    id: toDigestId(`${id}\0${group ?? ''}`),
    timestampMs: nowMs,
    payload,
    metadata: {
      ...metadata,
      'dead-topic': topic,
      ...(group !== undefined && { 'dead-group': group }),
      'dead-id': id,
      'dead-sequence': String(sequence),
      'dead-timestamp': new Date(timestampMs).toISOString(),
      // The last pull was not delivered.
      'dead-attempts': String(reason === 'nack' ? attempt : attempt - 1),
      'dead-reason': reason,
    },
  }
}
