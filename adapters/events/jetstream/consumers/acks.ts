import type { Msg } from '@nats-io/transport-node'
import type { EventTopic } from '../../../../core/contracts/events.ts'
import type { GatewayError } from '../../../../core/errors.ts'
import { eventsError, eventsUnavailable } from '../../../../domain/events/errors.ts'
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

/** A group whose acknowledgements are stored. */
export interface AckedGroup {
  /** Stream of the group's topic. */
  readonly stream: string
  /** Subject of the group's acknowledgements. */
  readonly subject: string
}

/**
 * Stores acknowledgements of groups in a stream with the durability of events. The server persists
 * its own consumer state later and may lose it in a crash.
 */
export interface Acks {
  /**
   * Stores an acknowledgement and acknowledges the message at `reply`. Resolves when both are done.
   * Calls are batched per tick.
   */
  readonly note: (group: AckedGroup, sequence: number, reply: string) => Promise<void>
  /**
   * Loads the acknowledgements of a group, including events that are no longer stored, and
   * subscribes to new ones.
   */
  readonly follow: (session: Session, group: AckedGroup) => Promise<FollowedAcks>
  /**
   * Deletes the acknowledgements of groups with this name.
   *
   * @param group default: all groups of the topic
   */
  readonly forget: (session: Session, topic: EventTopic, group?: string) => Promise<void>
  /** Resolves when no write is in flight. */
  readonly drained: () => Promise<void>
}

export interface FollowedAcks {
  readonly done: SequenceSet
  readonly stop: StopListening
}

interface Ack {
  readonly group: AckedGroup
  readonly sequence: number
  readonly reply: string
}

/** Number of records of a group after which this server merges them. */
const MAX_RECORDS = 1000
const PULL = { limit: 1000, maxBytes: 1024 * 1024, waitMs: 0 }

export function createAcks(sessions: Sessions, prefix: string, replicas: number): Acks {
  const stream = toAcksStream(prefix)
  const config = { name: stream, subjects: [`${prefix}.acks.>`], num_replicas: replicas }
  /** Number of records written since the group was joined. */
  const records = new WeakMap<AckedGroup, number>()

  const queue = createGroupCommit<Ack, void>({
    commit: (acks) => sessions.use((session) => commit(session, acks)),
    sizeOf: ({ reply }) => reply.length + 64,
    toOverflowError: () => eventsError(503, 'too many pending acknowledgements'),
  })

  async function commit(session: Session, acks: readonly Ack[]) {
    await ensureStream(session, config)
    const groups = new Map<AckedGroup, Ack[]>()
    for (const ack of acks) {
      const groupAcks = groups.get(ack.group) ?? []
      groups.set(ack.group, groupAcks)
      groupAcks.push(ack)
    }
    const outcomes = new Map<AckedGroup, GatewayError | undefined>()
    await Promise.all(
      [...groups].map(async ([group, groupAcks]) => {
        const [outcome] = await Promise.all([
          record(session, group, groupAcks),
          acknowledgeAll(session, groupAcks),
        ])
        outcomes.set(group, outcome)
      }),
    )
    if (session.isEnded) throw eventsUnavailable(new Error('the connection is lost'))
    return acks.map(({ group }) => outcomes.get(group))
  }

  /**
   * Awaits the consumer's response to the last acknowledgement only: the consumer processes them in
   * order. Failures are ignored.
   */
  async function acknowledgeAll(session: Session, acks: readonly Ack[]): Promise<void> {
    for (const { reply } of acks.slice(0, -1)) session.publish({ subject: reply, body: '+ACK' })
    await session.request({ subject: acks.at(-1)!.reply, body: '+ACK' }).catch(() => {})
  }

  async function record(
    session: Session,
    group: AckedGroup,
    acks: readonly Ack[],
  ): Promise<GatewayError | undefined> {
    const { subject } = group
    const done = createSequenceSet()
    for (const { sequence } of acks) done.add(sequence)
    try {
      toStored(await session.request({ subject, body: formatRanges(done.ranges) }))
      const count = (records.get(group) ?? 0) + 1
      records.set(group, count)
      // A failed merge is retried with later records.
      if (count % MAX_RECORDS === 0) load(session, group, createSequenceSet()).catch(() => {})
      return undefined
    } catch (error) {
      session.knownStreams.delete(stream)
      return toFailure(error)
    }
  }

  /** Adds the stored acknowledgements to `done` and merges many records into one. */
  async function load(session: Session, group: AckedGroup, done: SequenceSet): Promise<void> {
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
        if (end !== 'done')
          throw eventsUnavailable(new Error('the consumer for reading was deleted'))
      }
    }

    await ensureStream(session, config)
    await readAll(session, stream, fromSequence(1), pullAll, group.subject)
    if (count >= MAX_RECORDS) await merge(session, group, done, last)
  }

  /** Replaces many records with one; both exist for a moment. */
  async function merge(session: Session, { subject }: AckedGroup, done: SequenceSet, last: number) {
    toStored(await session.request({ subject, body: formatRanges(done.ranges) }))
    await session.streams.purge(stream, { filter: subject, seq: last + 1 })
  }

  return {
    note: (group, sequence, reply) => queue.push({ group, sequence, reply }),

    async follow(session, group) {
      const done = createSequenceSet()
      // Members on other servers may have stored acknowledgements that this server does not have.
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
