import type { EventDelivery, EventTopic, NewEvent } from '../../core/contracts/events.ts'
import { toDigestId } from './digest-id.ts'

/**
 * Reason why an event became a dead letter: its last consumer rejected it, or did not acknowledge
 * it in time.
 */
export type DeadReason = 'nack' | 'ack_wait'

/** Suffix of dead-letter topics. */
const SUFFIX = '.dead'
/** Approximate size of the metadata added to a dead letter. */
export const DEAD_METADATA_BYTES = 2048

/** Returns the dead-letter topic of a topic. */
export function toDeadTopic(topic: string): string {
  return topic + SUFFIX
}

/** Returns whether a topic contains dead letters. Its consumers create no further dead letters. */
export function isDeadTopic(topic: string): boolean {
  return topic.endsWith(SUFFIX)
}

/**
 * Converts an event to a dead letter with its payload, metadata and origin. If the conversion is
 * repeated after a crash, the dead letter gets the same id.
 */
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
