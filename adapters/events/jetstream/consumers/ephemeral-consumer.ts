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
import { addPassing, findConsumer, removePassing } from './consumers.ts'
import { type DeliveryCalls, JetDelivery } from './delivery.ts'
import type { MemberParts } from './durable-consumer.ts'
import { createPuller } from './puller.ts'
import { fromSequence, toConsumerStart } from './start.ts'

/** How long the server keeps a consumer whose member is gone; one that is slower gets another. */
const IDLE_MS = 10 * 60_000

/**
 * Begins a group of one member, with or without acknowledgements. Its consumer is not kept, what it has done is known here: when the
 * consumer is lost, another goes on where that was.
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
  const held = createInFlight(sessions, ackWaitMs ?? 0)
  const done = createSequenceSet()
  const idleMs = Math.max(IDLE_MS, 2 * (ackWaitMs ?? 0))
  let consumer: ConsumerInfo | undefined
  /** Of the stream it has begun with. */
  let run: string | undefined

  const calls: DeliveryCalls = {
    ack(delivery) {
      if (!acks) return
      held.remove(delivery)
      finish(delivery.event.sequence, delivery.reply)
    },
    nack: (delivery, delayMs) => (acks ? held.refuse(delivery, delayMs) : undefined),
  }

  function finish(sequence: number, reply: string): void {
    done.add(sequence)
    if (acks) sessions.current?.tell({ subject: reply, body: '+ACK' })
  }

  async function begin(session: Session): Promise<Attached> {
    // Others may have removed it.
    session.known.delete(stream)
    await ensureTopic(session, names, replicas)
    run = parseRun(await session.streams.info(stream))
    const from = await toConsumerStart(session, names, start, nowMs())
    consumer = await addPassing(session, stream, { start: from, ackWaitMs, idleMs })
    done.add(1, Math.max(consumer.delivered.stream_seq, (start.sequence ?? 1) - 1))
    return toAttached(session, consumer)
  }

  /** Without acknowledgements, what the old consumer had sent may be lost: there is always another. */
  async function goOn(session: Session): Promise<Attached> {
    const known = await findStream(session, stream)
    if (known === undefined || parseRun(known) !== run) throw topicDeleted(topic)
    const old = consumer && (await findConsumer(session, stream, consumer.name))
    if (old !== undefined && acks) return toAttached(session, old)
    if (old !== undefined) removePassing(session, old)
    const from = fromSequence(done.floor + 1)
    consumer = await addPassing(session, stream, { start: from, ackWaitMs, idleMs })
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
        const isOver = done.has(sequence)
        const event = isOver ? undefined : decodeEvent(message, delivered)
        if (event === undefined || event.timestampMs < sinceMs) {
          finish(sequence, reply)
          return undefined
        }
        const delivery = new JetDelivery(event, attempt, reply, calls)
        if (acks) held.add(delivery)
        else finish(sequence, reply)
        return delivery
      },
    }
  }

  return createMember({
    sessions,
    attached: await sessions.use(begin),
    attach: goOn,

    giveBack: held.giveBack,

    onLeave() {
      const { current } = sessions
      if (consumer !== undefined && current !== undefined) removePassing(current, consumer)
    },
  })
}
