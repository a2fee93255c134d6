import type {
  EventsAdapter,
  EventTopic,
  StoredEvent,
  TopicState,
} from '../../core/contracts/events.ts'
import { eventsFull } from '../../domain/events/errors.ts'
import { createLogEvents } from '../../domain/events/log/groups.ts'
import {
  type LogEnd,
  type LogMark,
  NO_EVENTS,
  sizeOfEvent,
  toEnd,
  toMark,
  toRetention,
} from '../../domain/events/log/index.ts'
import type { EventLog } from '../../domain/events/log/log.ts'
import { readSlice } from '../../domain/events/log/read.ts'
import { toTopicKey } from '../../domain/events/topic-key.ts'

export interface MemoryEventsOptions {
  /** Approximate memory limit of all events in bytes; appends beyond it fail with 507. @default 268435456 */
  readonly maxBytes?: number
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
}

interface Entry {
  readonly event: StoredEvent
  readonly mark: LogMark
}

interface MemoryTopic {
  readonly topic: EventTopic
  readonly entries: Entry[]
  end: LogEnd
}

/** Stores events in the memory of this process. */
export function createMemoryEvents(options: MemoryEventsOptions = {}): EventsAdapter {
  const { maxBytes = 256 * 1024 * 1024, nowMs = Date.now } = options
  const topics = new Map<string, MemoryTopic>()
  const groups = new Map<string, Map<string, Uint8Array>>()
  let bytes = 0

  function open(topic: EventTopic): MemoryTopic {
    const key = toTopicKey(topic)
    let stored = topics.get(key)
    if (stored === undefined) {
      const { namespace, topic: name } = topic
      const end = { ...NO_EVENTS, storedMs: nowMs() }
      stored = { topic: { namespace, topic: name }, entries: [], end }
      topics.set(key, stored)
    }
    return stored
  }

  const log: EventLog = {
    name: 'memory',

    append(batch) {
      let size = 0
      for (const { event } of batch) size += sizeOfEvent(event)
      if (bytes + size > maxBytes)
        throw eventsFull(new Error(`${maxBytes} bytes of memory are in use`))
      bytes += size
      const now = nowMs()
      return batch.map(({ topic, event }) => {
        const stored = open(topic)
        const mark = toMark(stored.end, event, now)
        stored.end = toEnd(stored.end, mark, event)
        const sequence = stored.end.last
        stored.entries.push({ event: { ...event, sequence }, mark })
        return sequence
      })
    },

    read(topic, range) {
      const stored = topics.get(toTopicKey(topic))
      if (stored === undefined) return { events: [], end: range.from, next: undefined }
      const { first, last } = toState(stored)
      const at = (sequence: number): Entry => stored.entries[sequence - first]!
      function* walk(from: number): Iterable<StoredEvent> {
        for (let sequence = from; sequence <= last; sequence++) yield at(sequence).event
      }
      return readSlice({ first, last, readMark: (sequence) => at(sequence).mark, walk }, range)
    },

    findTopic(topic) {
      const stored = topics.get(toTopicKey(topic))
      return stored && toState(stored)
    },

    listTopics: (namespace) =>
      [...topics]
        .filter(([, { topic }]) => namespace === undefined || topic.namespace === namespace)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, stored]) => toState(stored)),

    retain(topic, retention, now) {
      const stored = topics.get(toTopicKey(topic))
      if (stored === undefined) return false
      const { first, bytes: previousBytes } = toState(stored)
      const readMark = (sequence: number): LogMark => stored.entries[sequence - first]!.mark
      const retained = toRetention(first, stored.end, readMark, retention, now)
      stored.entries.splice(0, retained.first - first)
      bytes -= previousBytes - toState(stored).bytes
      return retained.more
    },

    deleteTopic(topic, idleSinceMs) {
      const key = toTopicKey(topic)
      const stored = topics.get(key)
      if (stored === undefined) return false
      const { entries, end } = stored
      if (idleSinceMs !== undefined)
        if (entries.length > 0 || groups.has(key) || end.storedMs > idleSinceMs) return false
      topics.delete(key)
      groups.delete(key)
      bytes -= toState(stored).bytes
      return true
    },

    saveGroups(saves) {
      for (const { topic, name, state } of saves) {
        const key = toTopicKey(topic)
        if (state !== undefined) open(topic)
        const states = groups.get(key) ?? new Map<string, Uint8Array>()
        if (state === undefined) states.delete(name)
        else states.set(name, state)
        if (states.size > 0) groups.set(key, states)
        else groups.delete(key)
      }
    },

    readGroup: (topic, name) => groups.get(toTopicKey(topic))?.get(name),

    readGroups: (topic) =>
      [...(groups.get(toTopicKey(topic)) ?? [])]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, state]) => ({ name, state })),

    close() {},
  }
  return createLogEvents(log)
}

function toState({ topic, entries, end }: MemoryTopic): TopicState {
  const [oldest] = entries
  return {
    ...topic,
    first: end.last - entries.length + 1,
    last: end.last,
    bytes: end.bytes - (oldest?.mark.startBytes ?? end.bytes),
  }
}
