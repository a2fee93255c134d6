import type { EventDelivery, EventTopic, NewEvent } from '../../core/contracts/events.ts'
import { toDigestId } from './digest-id.ts'

/** Why an event was given up: its last consumer refused it, or did not acknowledge it in time. */
export type DeadReason = 'nack' | 'ack_wait'

/** What names of topics of dead letters end with. */
const SUFFIX = '.dead'
/** Metadata that an event gets as a dead letter, about, in bytes. */
export const DEAD_METADATA_BYTES = 2048

/** Where the events go that consumers of a topic give up. */
export function toDeadTopic(topic: string): string {
  return topic + SUFFIX
}

/** Whether a topic is one of dead letters: their consumers give up nothing. */
export function isDeadTopic(topic: string): boolean {
  return topic.endsWith(SUFFIX)
}

/**
 * An event as a dead letter: its payload and metadata, and what it was. Given up once more, after the sudden end of
 * a server, it has the same id again.
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
      // The last time it was pulled nobody got it.
      'dead-attempts': String(reason === 'nack' ? attempt : attempt - 1),
      'dead-reason': reason,
    },
  }
}
