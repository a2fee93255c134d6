import type {
  EventGroup,
  EventMember,
  EventStart,
  EventsAdapter,
  EventTopic,
} from '../../../core/contracts/events.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import { groupDeleted, topicDeleted } from '../errors.ts'
import { toTopicKey } from '../topic-key.ts'
import { createLogGroup, type LogGroup, type LogMembers } from './group.ts'
import { createGroupSaver } from './group-saver.ts'
import { type GroupProgress, parseGroupState } from './group-state.ts'
import { toForgetMs } from './index.ts'
import type { EventLog } from './log.ts'
import { createLogTail } from './tail.ts'

/** A loaded named group. */
interface NamedGroup {
  readonly group: LogGroup
  readonly save: () => Promise<void>
  /** Settles when the group has been stored in the log. */
  readonly stored: Promise<void>
}

const NOTHING: Pick<GroupProgress, 'ahead' | 'attempts'> = { ahead: [], attempts: new Map() }

/**
 * Creates an adapter based on a log in this process. The adapter runs the groups; the log stores
 * their states.
 */
export function createLogEvents(log: EventLog): EventsAdapter {
  const saver = createGroupSaver(log)
  /** Groups with members by topic. There are no empty sets. */
  const topics = new Map<string, Set<LogMembers>>()
  /** Named groups by topic and name. */
  const named = new Map<string, NamedGroup>()
  /** Deleted groups that are still in the log, by topic and name. */
  const deleting = new Set<string>()
  /** Topics being removed. Joins wait until their promise has settled. */
  const removing = new Map<string, Promise<unknown>>()

  function remove(topic: EventTopic, group: LogMembers): void {
    const key = toTopicKey(topic)
    const groups = topics.get(key)
    if (groups?.delete(group) === true && groups.size === 0) topics.delete(key)
  }

  function enter(
    topic: EventTopic,
    group: LogMembers,
    ackWaitMs: number,
    onEmpty: () => Maybe<void>,
  ): EventMember {
    const { pull, leave } = group.join(ackWaitMs)
    const key = toTopicKey(topic)
    topics.set(key, (topics.get(key) ?? new Set()).add(group))
    let hasLeft = false
    return {
      pull,
      leave() {
        if (hasLeft) return
        hasLeft = true
        void leave()
        if (group.size > 0) return
        remove(topic, group)
        return onEmpty()
      },
    }
  }

  function load(topic: EventTopic, name: string, from: GroupProgress, isNew: boolean): NamedGroup {
    const save = () => saver.save(topic, name, group)
    const group = createLogGroup({ log, topic, from, save })
    const loaded = { group, save, stored: isNew ? save() : Promise.resolve() }
    named.set(toTopicKey(topic, name), loaded)
    return loaded
  }

  function find(topic: EventTopic, name: string): NamedGroup | undefined {
    const key = toTopicKey(topic, name)
    const known = named.get(key)
    if (known !== undefined || deleting.has(key)) return known
    const state = log.readGroup(topic, name)
    return state && load(topic, name, parseGroupState(state), false)
  }

  async function joinNamed(
    topic: EventTopic,
    name: string,
    { start, ackWaitMs = 0 }: EventGroup,
  ): Promise<EventMember> {
    const found = find(topic, name)
    const { group, save, stored } = found ?? load(topic, name, toProgress(log, topic, start), true)
    const member = enter(topic, group, ackWaitMs, async () => {
      // Without stored progress, events are redelivered.
      await save().catch(() => {})
      const key = toTopicKey(topic, name)
      if (group.size > 0 || named.get(key)?.group !== group) return
      named.delete(key)
      group.close()
    })
    try {
      await stored
      return member
    } catch (error) {
      await member.leave()
      throw error
    }
  }

  async function removeTopic(topic: EventTopic, idleSinceMs?: number): Promise<boolean> {
    const key = toTopicKey(topic)
    const removed = (async () => log.deleteTopic(topic, idleSinceMs))()
    const settled = removed.catch(() => {})
    removing.set(key, settled)
    try {
      return await removed
    } finally {
      if (removing.get(key) === settled) removing.delete(key)
    }
  }

  return {
    name: log.name,

    async append(batch) {
      const sequences = await log.append(batch)
      const keys = new Set(batch.map(({ topic }) => toTopicKey(topic)))
      for (const key of keys) for (const group of topics.get(key) ?? []) group.wake()
      return sequences
    },

    read: log.read,

    async join(topic, group) {
      const { name, start, ackWaitMs } = group
      await removing.get(toTopicKey(topic))
      if (name !== undefined) return joinNamed(topic, name, group)
      const from = toProgress(log, topic, start)
      const members =
        ackWaitMs === undefined
          ? createLogTail({ log, topic, from: from.acked + 1, sinceMs: from.sinceMs })
          : createLogGroup({ log, topic, from, save: () => {} })
      return enter(topic, members, ackWaitMs ?? 0, members.close)
    },

    listTopics: log.listTopics,
    ...(log.readTime && { readTime: log.readTime }),
    ...(log.saveTime && { saveTime: log.saveTime }),

    async retain(topic, retention, nowMs) {
      if (await log.retain(topic, retention, nowMs)) return true
      const key = toTopicKey(topic)
      if (!topics.has(key) && !removing.has(key))
        await removeTopic(topic, nowMs - toForgetMs(retention))
      return false
    },

    listGroups: (topic) =>
      log.readGroups(topic).map(({ name, state }) => {
        const loaded = named.get(toTopicKey(topic, name))
        if (loaded !== undefined) return { name, ...loaded.group.describe() }
        return { name, acked: parseGroupState(state).acked, pending: 0 }
      }),

    async deleteGroup(topic, name) {
      const key = toTopicKey(topic, name)
      if (log.readGroup(topic, name) === undefined || deleting.has(key)) return false
      const loaded = named.get(key)
      named.delete(key)
      deleting.add(key)
      if (loaded !== undefined) {
        remove(topic, loaded.group)
        loaded.group.fail(groupDeleted(name))
      }
      try {
        await log.saveGroups([{ topic, name, state: undefined }])
      } finally {
        deleting.delete(key)
      }
      return true
    },

    async deleteTopic(topic) {
      const key = toTopicKey(topic)
      await removing.get(key)
      for (const group of topics.get(key) ?? []) group.fail(topicDeleted(topic))
      topics.delete(key)
      for (const group of named.keys())
        if (group.startsWith(toTopicKey(topic, ''))) named.delete(group)
      return removeTopic(topic)
    },

    async close() {
      for (const { save } of named.values()) save().catch(() => {})
      await saver.drained()
      for (const groups of topics.values()) for (const group of groups) group.close()
      await log.close()
    },
  }
}

/** Returns the progress of a new group. */
function toProgress(
  log: EventLog,
  topic: EventTopic,
  { sequence, sinceMs }: EventStart,
): GroupProgress {
  if (sequence !== undefined) return { ...NOTHING, acked: sequence - 1, sinceMs }
  const last = log.findTopic(topic)?.last ?? 0
  if (sinceMs === undefined) return { ...NOTHING, acked: last, sinceMs }
  const { events, end } = log.read(topic, { from: 1, sinceMs, limit: 1, maxBytes: 1 })
  return { ...NOTHING, acked: (events[0]?.sequence ?? end) - 1, sinceMs }
}
