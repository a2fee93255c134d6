import type { ConsumerInfo } from '@nats-io/jetstream'
import type { EventGroup, EventTopic } from '../../../../core/contracts/events.ts'
import { topicDeleted } from '../../../../domain/events/errors.ts'
import { decodeEvent } from '../event-message.ts'
import { createInFlight } from '../in-flight.ts'
import { toTopicNames } from '../names.ts'
import { createSequenceSet } from '../sequence-set.ts'
import type { Session } from '../session.ts'
import { ensureTopic, findStream, parseRun } from '../topics.ts'
import { parseAckSubject } from './ack-subject.ts'
import { type Attached, createMember, type JetMember } from './consumer.ts'
import { addEphemeral, findConsumer, removeEphemeral } from './consumers.ts'
import { type DeliveryCalls, JetDelivery } from './delivery.ts'
import type { MemberParts } from './durable-consumer.ts'
import { createPuller } from './puller.ts'
import { fromSequence, toConsumerStart } from './start.ts'

/** Idle time after which the server deletes the consumer. A slower member creates a new one. */
const IDLE_MS = 10 * 60_000

/**
 * Joins an anonymous group with a single member, with or without acknowledgements. Its consumer is
 * ephemeral and its progress is stored in this process: if the consumer is lost, a new one
 * continues from there.
 */
export async function joinAlone(
  { sessions, prefix, replicas, nowMs }: Omit<MemberParts, 'acks'>,
  topic: EventTopic,
  { start, ackWaitMs }: EventGroup,
): Promise<JetMember> {
  const names = toTopicNames(prefix, topic)
  const { stream } = names
  const acks = ackWaitMs !== undefined
  const sinceMs = start.sinceMs ?? Number.NEGATIVE_INFINITY
  const inFlight = createInFlight(sessions, ackWaitMs ?? 0)
  const done = createSequenceSet()
  const idleMs = Math.max(IDLE_MS, 2 * (ackWaitMs ?? 0))
  let consumer: ConsumerInfo | undefined
  /** Identifies the stream that the member started with. */
  let run: string | undefined

  const calls: DeliveryCalls = {
    ack(delivery) {
      if (!acks) return
      inFlight.remove(delivery)
      finish(delivery.event.sequence, delivery.reply)
    },
    nack: (delivery, delayMs) => (acks ? inFlight.nack(delivery, delayMs) : undefined),
  }

  function finish(sequence: number, reply: string): void {
    done.add(sequence)
    if (acks) sessions.current?.publish({ subject: reply, body: '+ACK' })
  }

  async function begin(session: Session): Promise<Attached> {
    // Another client may have deleted the stream.
    session.knownStreams.delete(stream)
    await ensureTopic(session, names, replicas)
    run = parseRun(await session.streams.info(stream))
    const from = await toConsumerStart(session, names, start, nowMs())
    consumer = await addEphemeral(session, stream, { start: from, ackWaitMs, idleMs })
    done.add(1, Math.max(consumer.delivered.stream_seq, (start.sequence ?? 1) - 1))
    return toAttached(session, consumer)
  }

  /**
   * Resumes in another session. Without acknowledgements, a new consumer is required because
   * messages in flight may be lost.
   */
  async function resume(session: Session): Promise<Attached> {
    const existing = await findStream(session, stream)
    if (existing === undefined || parseRun(existing) !== run) throw topicDeleted(topic)
    const old = consumer && (await findConsumer(session, stream, consumer.name))
    if (old !== undefined && acks) return toAttached(session, old)
    if (old !== undefined) removeEphemeral(session, old)
    const from = fromSequence(done.floor + 1)
    consumer = await addEphemeral(session, stream, { start: from, ackWaitMs, idleMs })
    return toAttached(session, consumer)
  }

  function toAttached(session: Session, { name }: ConsumerInfo): Attached {
    return {
      session,
      ...createPuller(session, stream, name),

      toDelivery(message) {
        const reply = message.reply!
        const delivered = parseAckSubject(reply)!
        const { sequence, attempt } = delivered
        const isDone = done.has(sequence)
        const event = isDone ? undefined : decodeEvent(message, delivered)
        if (event === undefined || event.timestampMs < sinceMs) {
          finish(sequence, reply)
          return undefined
        }
        const delivery = new JetDelivery(event, attempt, reply, calls)
        if (acks) inFlight.add(delivery)
        else finish(sequence, reply)
        return delivery
      },
    }
  }

  return createMember({
    sessions,
    attached: await sessions.use(begin),
    attach: resume,

    giveBack: inFlight.giveBack,

    onLeave() {
      const { current } = sessions
      if (consumer !== undefined && current !== undefined) removeEphemeral(current, consumer)
    },
  })
}
