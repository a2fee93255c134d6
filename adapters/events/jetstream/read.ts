import type { Msg } from '@nats-io/transport-node'
import type {
  EventRange,
  EventSlice,
  EventTopic,
  StoredEvent,
} from '../../../core/contracts/events.ts'
import { eventsUnavailable } from '../../../domain/events/errors.ts'
import { parseAckSubject } from './consumers/ack-subject.ts'
import { addEphemeral, removeEphemeral } from './consumers/consumers.ts'
import { createPuller, type Puller } from './consumers/puller.ts'
import { type ConsumerStart, fromSequence, fromTime } from './consumers/start.ts'
import { isMissing } from './errors.ts'
import { decodeEvent } from './event-message.ts'
import { toTopicNames } from './names.ts'
import type { Session } from './session.ts'

/** Idle time after which the server deletes a temporary consumer. */
const IDLE_MS = 10_000
/** Maximum number of events scanned per call. */
const MAX_SCANNED = 10_000
/** Approximate overhead of a message. */
const MESSAGE_BYTES = 256

const NOTHING: EventSlice = { events: [], next: undefined }

/**
 * Reads part of a range through a temporary consumer, because only consumers receive several
 * messages at a time.
 */
export async function readSlice(
  session: Session,
  prefix: string,
  topic: EventTopic,
  range: EventRange,
  nowMs: number,
): Promise<EventSlice> {
  const names = toTopicNames(prefix, topic)
  const { from, sinceMs } = range
  try {
    const start =
      // The first page starts by time, later pages start by sequence.
      from === 1 && sinceMs !== undefined
        ? await fromTime(session, names, sinceMs, nowMs)
        : fromSequence(from)
    return await readFrom(session, names.stream, start, range)
  } catch (error) {
    if (isMissing(error)) return NOTHING
    throw error
  }
}

async function readFrom(
  session: Session,
  stream: string,
  start: ConsumerStart,
  { from, sinceMs = 0, limit, maxBytes }: EventRange,
): Promise<EventSlice> {
  const events: StoredEvent[] = []
  let scanned = 0
  let bytes = 0
  let next: number | undefined

  /** Adds a message. Returns whether to continue. */
  function add(message: Msg): boolean {
    const delivered = parseAckSubject(message.reply!)!
    const { sequence, pending } = delivered
    scanned++
    if (sequence >= from) {
      const event = decodeEvent(message, delivered)
      if (event.timestampMs >= sinceMs) {
        events.push(event)
        bytes += event.payload.length
      }
    }
    next = pending > 0 ? sequence + 1 : undefined
    return events.length < limit && bytes < maxBytes
  }

  async function pullAll(puller: Puller): Promise<void> {
    while (scanned < MAX_SCANNED) {
      const remaining = { limit: limit - events.length, maxBytes: maxBytes - bytes }
      const { messages, end } = await puller.pull({
        limit: sinceMs > 0 ? MAX_SCANNED : remaining.limit,
        maxBytes: remaining.maxBytes + remaining.limit * MESSAGE_BYTES,
        waitMs: 0,
      })
      for (const message of messages) if (!add(message)) return
      // The consumer was deleted in the meantime, or the topic has no more events.
      if (messages.length === 0) next = undefined
      if (next === undefined) return
      if (end !== 'done') throw eventsUnavailable(new Error('the consumer for reading was deleted'))
    }
  }

  await readAll(session, stream, start, pullAll)
  return { events, next }
}

/** Reads through a temporary consumer. */
export async function readAll(
  session: Session,
  stream: string,
  start: ConsumerStart,
  pullAll: (puller: Puller) => Promise<void>,
  subject?: string,
): Promise<void> {
  const consumer = await addEphemeral(session, stream, {
    start,
    ackWaitMs: undefined,
    idleMs: IDLE_MS,
    ...(subject !== undefined && { subject }),
  })
  if (consumer.num_pending === 0) {
    removeEphemeral(session, consumer)
    return
  }
  const puller = createPuller(session, stream, consumer.name)
  try {
    await pullAll(puller)
  } finally {
    removeEphemeral(session, consumer)
    await puller.close()
  }
}
