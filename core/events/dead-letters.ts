import { createHash } from 'node:crypto'
import type { EventDelivery, EventTopic, NewEvent } from '../contracts/events.ts'

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
    id: toId(id, group ?? ''),
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

/** RFC 9562 §5.8: a UUID of one's own making. */
function toId(id: string, group: string): string {
  const bytes = createHash('sha256').update(`${id}\0${group}`).digest().subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}
