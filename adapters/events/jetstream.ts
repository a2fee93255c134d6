import type { EventsAdapter, GroupState } from '../../core/contracts/events.ts'
import { groupDeleted, topicDeleted } from '../../domain/events/errors.ts'
import { toTopicKey } from '../../domain/events/topic-key.ts'
import { createAppend } from './jetstream/append.ts'
import { createAcks } from './jetstream/consumers/acks.ts'
import type { JetMember } from './jetstream/consumers/consumer.ts'
import { joinGroup } from './jetstream/consumers/durable-consumer.ts'
import { joinAlone } from './jetstream/consumers/ephemeral-consumer.ts'
import { listGroups } from './jetstream/consumers/groups.ts'
import { isMissing } from './jetstream/errors.ts'
import { MAX_HEAD_BYTES } from './jetstream/event-message.ts'
import { toConsumerName, toTopicNames } from './jetstream/names.ts'
import { readSlice } from './jetstream/read.ts'
import { createSessions, type SessionsOptions } from './jetstream/sessions.ts'
import { deleteStream, listTopics, retain } from './jetstream/topics.ts'

export interface JetStreamEventsOptions extends SessionsOptions {
  /** Number of replicas of each event in the cluster. @default 1 */
  readonly replicas?: number
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
}

export interface JetStreamEvents extends EventsAdapter {
  /**
   * Settles when each server has been tried once.
   *
   * @throws {Error} with `denied` set if a server rejected the connection or does not support the
   * number of replicas.
   */
  readonly tried: Promise<void>
}

/**
 * Event store on a NATS server or cluster with JetStream, shared by any number of gateways and
 * other programs. A topic is a stream; a named group is a durable consumer of that stream.
 *
 * Calls fail with 503 while disconnected. Appends in flight are retried after a quick reconnect and
 * stored once. Members resume after a reconnect.
 */
export function createJetStreamEvents(options: JetStreamEventsOptions): JetStreamEvents {
  const { replicas = 1, nowMs = Date.now, ...sessionsOptions } = options
  const { prefix } = options.address
  const sessions = createSessions(sessionsOptions)
  const acks = createAcks(sessions, prefix, replicas)
  const parts = { sessions, acks, prefix, replicas, nowMs }
  /** Members with the key of their topic and group. */
  const members = new Map<JetMember, string>()
  let closing: Promise<void> | undefined

  async function tryReplicas(): Promise<void> {
    await sessions.tried
    if (replicas > 1 && !(await sessions.open()).isClustered)
      throw new Error(`${replicas} replicas require a cluster, but the server is not part of one`)
  }

  const tried = tryReplicas()
  // Prevents an unhandled rejection if no caller awaits it.
  tried.catch(() => {})

  async function close(): Promise<void> {
    await Promise.all([...members.keys()].map((member) => member.leave()))
    await acks.drained()
    await sessions.close()
  }

  return {
    name: 'jetstream',
    tried,

    get maxEventBytes() {
      const { current } = sessions
      return (current?.maxMessageBytes ?? Number.POSITIVE_INFINITY) - MAX_HEAD_BYTES
    },

    append: createAppend(parts),

    read: (topic, range) =>
      sessions.use((session) => readSlice(session, prefix, topic, range, nowMs())),

    async join(topic, group) {
      const { name } = group
      const member = await (name === undefined
        ? joinAlone(parts, topic, group)
        : joinGroup(parts, topic, name, group))
      members.set(member, toTopicKey(topic, name ?? ''))
      if (closing !== undefined) await member.leave()
      return {
        pull: member.pull,
        async leave() {
          await member.leave()
          members.delete(member)
        },
      }
    },

    listTopics: (namespace) => sessions.use((session) => listTopics(session, prefix, namespace)),

    retain: (topic, retention, now) =>
      sessions.use((session) => retain(session, toTopicNames(prefix, topic), retention, now)),

    listGroups: (topic): Promise<GroupState[]> =>
      sessions.use((session) => listGroups(session, toTopicNames(prefix, topic))),

    deleteGroup: (topic, name) =>
      sessions.use(async (session) => {
        const { stream } = toTopicNames(prefix, topic)
        try {
          await session.consumers.delete(stream, toConsumerName(name))
        } catch (error) {
          if (isMissing(error)) return false
          throw error
        }
        const key = toTopicKey(topic, name)
        for (const [member, group] of members) if (group === key) member.fail(groupDeleted(name))
        await acks.forget(session, topic, name)
        return true
      }),

    deleteTopic: (topic) =>
      sessions.use(async (session) => {
        if (!(await deleteStream(session, toTopicNames(prefix, topic).stream))) return false
        const start = toTopicKey(topic, '')
        for (const [member, group] of members)
          if (group.startsWith(start)) member.fail(topicDeleted(topic))
        await acks.forget(session, topic)
        return true
      }),

    close() {
      closing ??= close()
      return closing
    },
  }
}
