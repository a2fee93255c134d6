import type { ConsumerInfo } from '@nats-io/jetstream'
import type { EventGroup, EventTopic } from '../../../../core/contracts/events.ts'
import { groupDeleted, rejectInput, topicDeleted } from '../../../../domain/events/errors.ts'
import { decodeEvent } from '../event-message.ts'
import { createInFlight } from '../in-flight.ts'
import { toAcksSubject, toConsumerName, toTopicNames } from '../names.ts'
import type { Session } from '../session.ts'
import type { Sessions } from '../sessions.ts'
import { ensureTopic, findStream } from '../topics.ts'
import { parseAckSubject } from './ack-subject.ts'
import type { Acks, NotedGroup } from './acks.ts'
import { type Attached, createMember, type JetMember } from './consumer.ts'
import { addGroup, findConsumer, parseRun, parseSince, setAckWait } from './consumers.ts'
import { type DeliveryCalls, JetDelivery } from './delivery.ts'
import { createPuller } from './puller.ts'
import { toConsumerStart } from './start.ts'

/** What members stand on. */
export interface MemberParts {
  readonly sessions: Sessions
  readonly acks: Acks
  readonly prefix: string
  readonly replicas: number
  readonly nowMs: () => number
}

/** Joins a group that is kept: a durable consumer, shared with members of other servers. */
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
  const held = createInFlight(sessions, ackWaitMs)
  /** Of the group it is a member of; undefined: that was deleted. */
  let run: string | undefined

  /** What it has of another would be said to the consumer that has its name now. */
  function enter(next: string | undefined): void {
    if (run !== next) held.forgetAll()
    run = next
  }

  async function begin(session: Session): Promise<ConsumerInfo> {
    // Others may have removed it.
    session.known.delete(stream)
    await ensureTopic(session, names, replicas)
    const from = await toConsumerStart(session, names, start, nowMs())
    const { sinceMs } = start
    try {
      return await addGroup(session, stream, { name: consumer, start: from, ackWaitMs, sinceMs })
    } catch (error) {
      // Another server may have begun it meanwhile.
      const other = await findConsumer(session, stream, consumer)
      if (other === undefined) throw error
      return other
    }
  }

  async function attach(session: Session, info: ConsumerInfo): Promise<Attached> {
    const { config } = info
    if (config.ack_policy !== 'explicit' || config.deliver_subject !== undefined)
      throw rejectInput(409, `the consumer ${consumer} of ${stream} is none of a group of events`)
    const own = parseRun(info)
    const group: NotedGroup = { stream, subject: toAcksSubject(prefix, topic, name, own) }
    enter(own)
    const { done, stop } = await acks.follow(session, group)
    // The server begins where the stream ends, when it was told to begin behind that.
    done.add(1, (config.opt_start_seq ?? 1) - 1)
    const sinceMs = parseSince(info) ?? Number.NEGATIVE_INFINITY
    const calls: DeliveryCalls = {
      ack(delivery) {
        held.remove(delivery)
        if (run !== own) return
        return acks.note(group, delivery.event.sequence, delivery.reply)
      },
      nack: held.refuse,
    }
    const puller = createPuller(session, stream, consumer)
    return {
      session,
      pull: puller.pull,

      async close() {
        const [messages] = await Promise.all([puller.close(), stop()])
        // A pull of ours that is still there would take what is refused now, and lose it for its time: asked
        // about a consumer, the server drops those nobody listens to.
        await findConsumer(session, stream, consumer).catch(() => {})
        return run === own ? messages : []
      },

      toDelivery(message) {
        const reply = message.reply!
        const delivered = parseAckSubject(reply)!
        if (done.has(delivered.sequence)) {
          session.tell({ subject: reply, body: '+ACK' })
          return undefined
        }
        const event = decodeEvent(message, delivered)
        if (event.timestampMs < sinceMs) {
          // What is not noted comes again, and is passed over again.
          acks.note(group, event.sequence, reply).catch(() => {})
          return undefined
        }
        const delivery = new JetDelivery(event, delivered.attempt, reply, calls)
        held.add(delivery)
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

    giveBack: held.giveBack,
    onLeave: held.refuseAll,
  })
  return {
    ...member,

    fail(error) {
      enter(undefined)
      member.fail(error)
    },
  }
}
