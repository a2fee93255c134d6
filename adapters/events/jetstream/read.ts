import type { Msg } from '@nats-io/transport-node'
import type {
  EventRange,
  EventSlice,
  EventTopic,
  StoredEvent,
} from '../../../core/contracts/events.ts'
import { eventsUnavailable } from '../../../domain/events/errors.ts'
import { parseAckSubject } from './consumers/ack-subject.ts'
import { addPassing, removePassing } from './consumers/consumers.ts'
import { createPuller, type Puller } from './consumers/puller.ts'
import { type ConsumerStart, fromSequence, fromTime } from './consumers/start.ts'
import { isMissing } from './errors.ts'
import { decodeEvent } from './event-message.ts'
import { toTopicNames } from './names.ts'
import type { Session } from './session.ts'

/** How long the server keeps a consumer for reading that was not removed. */
const IDLE_MS = 10_000
/** Events looked at in one go. */
const MAX_LOOKED = 10_000
/** What a message has besides its payload, about. */
const MESSAGE_BYTES = 256

const NOTHING: EventSlice = { events: [], next: undefined }

/** Part of a range, by a consumer that is made for it: several messages at a time only those get. */
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
      // What comes first with a time is found by it; what follows begins where that ended.
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
  let looked = 0
  let bytes = 0
  let next: number | undefined

  /** @returns whether to go on. */
  function take(message: Msg): boolean {
    const delivered = parseAckSubject(message.reply!)!
    const { sequence, pending } = delivered
    looked++
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
    while (looked < MAX_LOOKED) {
      const left = { limit: limit - events.length, maxBytes: maxBytes - bytes }
      const { messages, end } = await puller.pull({
        limit: sinceMs > 0 ? MAX_LOOKED : left.limit,
        maxBytes: left.maxBytes + left.limit * MESSAGE_BYTES,
        waitMs: 0,
      })
      for (const message of messages) if (!take(message)) return
      // Removed meanwhile, or the last.
      if (messages.length === 0) next = undefined
      if (next === undefined) return
      if (end !== 'done') throw eventsUnavailable(new Error('the consumer for reading is gone'))
    }
  }

  await readAll(session, stream, start, pullAll)
  return { events, next }
}

/** Makes a consumer, has it pulled, and removes it. */
export async function readAll(
  session: Session,
  stream: string,
  start: ConsumerStart,
  pullAll: (puller: Puller) => Promise<void>,
  subject?: string,
): Promise<void> {
  const consumer = await addPassing(session, stream, {
    start,
    ackWaitMs: undefined,
    idleMs: IDLE_MS,
    ...(subject !== undefined && { subject }),
  })
  if (consumer.num_pending === 0) {
    removePassing(session, consumer)
    return
  }
  const puller = createPuller(session, stream, consumer.name)
  try {
    await pullAll(puller)
  } finally {
    removePassing(session, consumer)
    await puller.close()
  }
}
