import type { Msg } from '@nats-io/transport-node'
import type { EventTopic } from '../../../../core/contracts/events.ts'
import type { GatewayError } from '../../../../core/errors.ts'
import { eventsUnavailable, rejectInput } from '../../../../domain/events/errors.ts'
import { createGroupCommit } from '../../../../lib/async/batcher.ts'
import { toFailure } from '../errors.ts'
import { toAcksStream, toAcksSubject } from '../names.ts'
import { toStored } from '../pub-ack.ts'
import { readAll } from '../read.ts'
import { createSequenceSet, formatRanges, parseRanges, type SequenceSet } from '../sequence-set.ts'
import type { Session, StopListening } from '../session.ts'
import type { Sessions } from '../sessions.ts'
import { ensureStream, findStream } from '../topics.ts'
import { parseAckSubject } from './ack-subject.ts'
import type { Puller } from './puller.ts'
import { fromSequence } from './start.ts'

/** Whose acknowledgements are noted. */
export interface NotedGroup {
  /** The stream of its topic. */
  readonly stream: string
  /** Where they are noted. */
  readonly subject: string
}

/**
 * Notes in a stream what groups have acknowledged, as durable as events are: what the server itself knows about a consumer it
 * writes to its disk later, and when it ends suddenly it may have forgotten the last of it, or all.
 */
export interface Acks {
  /** Notes it, and tells the consumer at `reply`; resolves when both is done. Those of a turn are noted together. */
  readonly note: (group: NotedGroup, sequence: number, reply: string) => Promise<void>
  /** What was noted of a group, and all that is not kept any more; what is noted from now on is added to it. */
  readonly follow: (session: Session, group: NotedGroup) => Promise<FollowedAcks>
  /** Forgets what was noted of groups of this name. @param group default: of all of the topic */
  readonly forget: (session: Session, topic: EventTopic, group?: string) => Promise<void>
  /** Resolves when nothing is being noted. */
  readonly drained: () => Promise<void>
}

export interface FollowedAcks {
  readonly done: SequenceSet
  readonly stop: StopListening
}

interface Ack {
  readonly group: NotedGroup
  readonly sequence: number
  readonly reply: string
}

/** Records of a group, of this server, after which all it has are made one. */
const MAX_RECORDS = 1000
const PULL = { limit: 1000, maxBytes: 1024 * 1024, waitMs: 0 }

export function createAcks(sessions: Sessions, prefix: string, replicas: number): Acks {
  const stream = toAcksStream(prefix)
  const config = { name: stream, subjects: [`${prefix}.acks.>`], num_replicas: replicas }
  /** Noted since a group was joined. */
  const records = new WeakMap<NotedGroup, number>()

  const queue = createGroupCommit<Ack, void>({
    commit: (acks) => sessions.use((session) => commit(session, acks)),
    sizeOf: ({ reply }) => reply.length + 64,
    tooMuch: () => rejectInput(503, 'too many acknowledgements are waiting'),
  })

  async function commit(session: Session, acks: readonly Ack[]) {
    await ensureStream(session, config)
    const groups = new Map<NotedGroup, Ack[]>()
    for (const ack of acks) {
      const own = groups.get(ack.group) ?? []
      groups.set(ack.group, own)
      own.push(ack)
    }
    const outcomes = new Map<NotedGroup, GatewayError | undefined>()
    await Promise.all(
      [...groups].map(async ([group, own]) => {
        const [outcome] = await Promise.all([record(session, group, own), tellAll(session, own)])
        outcomes.set(group, outcome)
      }),
    )
    if (session.isOver) throw eventsUnavailable(new Error('the connection is lost'))
    return acks.map(({ group }) => outcomes.get(group))
  }

  /** The consumer answers the last: it has taken the others by then. One that does not, does not matter. */
  async function tellAll(session: Session, acks: readonly Ack[]): Promise<void> {
    for (const { reply } of acks.slice(0, -1)) session.tell({ subject: reply, body: '+ACK' })
    await session.ask({ subject: acks.at(-1)!.reply, body: '+ACK' }).catch(() => {})
  }

  async function record(
    session: Session,
    group: NotedGroup,
    acks: readonly Ack[],
  ): Promise<GatewayError | undefined> {
    const { subject } = group
    const done = createSequenceSet()
    for (const { sequence } of acks) done.add(sequence)
    try {
      toStored(await session.ask({ subject, body: formatRanges(done.ranges) }))
      const count = (records.get(group) ?? 0) + 1
      records.set(group, count)
      // What goes wrong is tried again with what follows.
      if (count % MAX_RECORDS === 0) load(session, group, createSequenceSet()).catch(() => {})
      return undefined
    } catch (error) {
      session.known.delete(stream)
      return toFailure(error)
    }
  }

  /** Adds what was noted, and makes one record of it where there are many. */
  async function load(session: Session, group: NotedGroup, done: SequenceSet): Promise<void> {
    const topic = await findStream(session, group.stream)
    done.add(1, (topic?.state.first_seq ?? 1) - 1)
    let count = 0
    let last = 0

    async function pullAll(puller: Puller): Promise<void> {
      for (;;) {
        const { messages, end } = await puller.pull(PULL)
        for (const message of messages) {
          count++
          addAll(done, message)
        }
        const delivered = parseAckSubject(messages.at(-1)?.reply ?? '')
        last = delivered?.sequence ?? last
        if ((delivered?.pending ?? 0) === 0) return
        if (end !== 'done') throw eventsUnavailable(new Error('the consumer for reading is gone'))
      }
    }

    await ensureStream(session, config)
    await readAll(session, stream, fromSequence(1), pullAll, group.subject)
    if (count >= MAX_RECORDS) await join(session, group, done, last)
  }

  /** One record in place of many; in between there are both. */
  async function join(session: Session, { subject }: NotedGroup, done: SequenceSet, last: number) {
    toStored(await session.ask({ subject, body: formatRanges(done.ranges) }))
    await session.streams.purge(stream, { filter: subject, seq: last + 1 })
  }

  return {
    note: (group, sequence, reply) => queue.push({ group, sequence, reply }),

    async follow(session, group) {
      const done = createSequenceSet()
      // Members of other servers may note what they had before the server was back, and has forgotten.
      const stop = session.listen(group.subject, (error, message) => {
        if (error === null) addAll(done, message)
      })
      await load(session, group, done)
      return { done, stop }
    },

    async forget(session, topic, group) {
      const filter = toAcksSubject(prefix, topic, group)
      if ((await findStream(session, stream)) !== undefined)
        await session.streams.purge(stream, { filter })
    },

    drained: queue.drained,
  }
}

function addAll(done: SequenceSet, record: Msg): void {
  for (const [from, to] of parseRanges(record.string())) done.add(from, to)
}
