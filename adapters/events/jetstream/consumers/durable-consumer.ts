import type { ConsumerInfo } from '@nats-io/jetstream'
import type { EventGroup, EventTopic } from '../../../../core/contracts/events.ts'
import { eventsError, groupDeleted, topicDeleted } from '../../../../domain/events/errors.ts'
import { decodeEvent } from '../event-message.ts'
import { createInFlight } from '../in-flight.ts'
import { toAcksSubject, toConsumerName, toTopicNames } from '../names.ts'
import type { Session } from '../session.ts'
import type { Sessions } from '../sessions.ts'
import { ensureTopic, findStream } from '../topics.ts'
import { parseAckSubject } from './ack-subject.ts'
import type { AckedGroup, Acks } from './acks.ts'
import { type Attached, createMember, type JetMember } from './consumer.ts'
import { addGroup, findConsumer, parseRun, parseSince, setAckWait } from './consumers.ts'
import { type DeliveryCalls, JetDelivery } from './delivery.ts'
import { createPuller } from './puller.ts'
import { toConsumerStart } from './start.ts'

/** Dependencies of members. */
export interface MemberParts {
  readonly sessions: Sessions
  readonly acks: Acks
  readonly prefix: string
  readonly replicas: number
  readonly nowMs: () => number
}

/** Joins a named group: a durable consumer shared with members on other servers. */
export async function joinGroup(
  parts: MemberParts,
  topic: EventTopic,
  name: string,
  { start, ackWaitMs = 0 }: EventGroup,
): Promise<JetMember> {
  const { sessions, acks, prefix, replicas, nowMs } = parts
  const names = toTopicNames(prefix, topic)
  const { stream } = names
  const consumer = toConsumerName(name)
  const inFlight = createInFlight(sessions, ackWaitMs)
  /** Identifies the group; undefined once the group is deleted. */
  let run: string | undefined

  /**
   * Drops deliveries of a previous group: their acknowledgements would go to a new consumer of the
   * same name.
   */
  function enter(next: string | undefined): void {
    if (run !== next) inFlight.forgetAll()
    run = next
  }

  async function begin(session: Session): Promise<ConsumerInfo> {
    // Another client may have deleted the stream.
    session.knownStreams.delete(stream)
    await ensureTopic(session, names, replicas)
    const from = await toConsumerStart(session, names, start, nowMs())
    const { sinceMs } = start
    try {
      return await addGroup(session, stream, { name: consumer, start: from, ackWaitMs, sinceMs })
    } catch (error) {
      // Another server may have created the consumer in the meantime.
      const existing = await findConsumer(session, stream, consumer)
      if (existing === undefined) throw error
      return existing
    }
  }

  async function attach(session: Session, info: ConsumerInfo): Promise<Attached> {
    const { config } = info
    if (config.ack_policy !== 'explicit' || config.deliver_subject !== undefined)
      throw eventsError(409, `the consumer ${consumer} of ${stream} is not an event group`)
    const currentRun = parseRun(info)
    const group: AckedGroup = { stream, subject: toAcksSubject(prefix, topic, name, currentRun) }
    enter(currentRun)
    const { done, stop } = await acks.follow(session, group)
    // The server reduces a start position beyond the end of the stream to its end.
    done.add(1, (config.opt_start_seq ?? 1) - 1)
    const sinceMs = parseSince(info) ?? Number.NEGATIVE_INFINITY
    const calls: DeliveryCalls = {
      ack(delivery) {
        inFlight.remove(delivery)
        if (run !== currentRun) return
        return acks.note(group, delivery.event.sequence, delivery.reply)
      },
      nack: inFlight.nack,
    }
    const puller = createPuller(session, stream, consumer)
    return {
      session,
      pull: puller.pull,

      async close() {
        const [messages] = await Promise.all([puller.close(), stop()])
        // A pending pull of this member would receive nacked messages and block them until the ack
        // timeout. A consumer info request makes the server drop pulls without a subscriber.
        await findConsumer(session, stream, consumer).catch(() => {})
        return run === currentRun ? messages : []
      },

      toDelivery(message) {
        const reply = message.reply!
        const delivered = parseAckSubject(reply)!
        if (done.has(delivered.sequence)) {
          session.publish({ subject: reply, body: '+ACK' })
          return undefined
        }
        const event = decodeEvent(message, delivered)
        if (event.timestampMs < sinceMs) {
          // If the acknowledgement is not stored, the event is delivered and skipped again.
          acks.note(group, event.sequence, reply).catch(() => {})
          return undefined
        }
        const delivery = new JetDelivery(event, delivered.attempt, reply, calls)
        inFlight.add(delivery)
        return delivery
      },
    }
  }

  const attached = await sessions.use(async (session) => {
    const info = (await findConsumer(session, stream, consumer)) ?? (await begin(session))
    await setAckWait(session, info, ackWaitMs)
    return attach(session, info)
  })
  const member = createMember({
    sessions,
    attached,

    async attach(session) {
      const info = await findConsumer(session, stream, consumer)
      if (info !== undefined) return attach(session, info)
      enter(undefined)
      throw (await findStream(session, stream)) === undefined
        ? topicDeleted(topic)
        : groupDeleted(name)
    },

    giveBack: inFlight.giveBack,
    onLeave: inFlight.nackAll,
  })
  return {
    ...member,

    fail(error) {
      enter(undefined)
      member.fail(error)
    },
  }
}
