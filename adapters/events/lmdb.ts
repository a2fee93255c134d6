import type {
  EventsAdapter,
  EventTopic,
  StoredEvent,
  TopicState,
} from '../../core/contracts/events.ts'
import { eventsFull, eventsUnavailable } from '../../domain/events/errors.ts'
import { createLogEvents } from '../../domain/events/log/groups.ts'
import {
  type LogMark,
  MAX_REMOVED,
  NO_EVENTS,
  toEnd,
  toMark,
  toRetention,
} from '../../domain/events/log/index.ts'
import type { EventLog, GroupSave, SavedGroup } from '../../domain/events/log/log.ts'
import { readSlice } from '../../domain/events/log/read.ts'
import { toTopicKey } from '../../domain/events/topic-key.ts'
import { isDiskFull } from '../../domain/lmdb/disk-space.ts'
import { openEnvironment } from '../../domain/lmdb/environment.ts'
import { createReserve } from '../../domain/lmdb/reserve.ts'
import { formatEvent, parseEvent, parseMark } from './lmdb/event-bytes.ts'
import {
  formatTopicRecord,
  parseSequence,
  parseTopicRecord,
  type TopicRecord,
  toEventKey,
} from './lmdb/topic-bytes.ts'

export interface LmdbEventsOptions {
  /**
   * Folder of the database file, created with access for its owner only. Only one process may use
   * it at a time.
   */
  readonly folder: string
  /**
   * When an event or acknowledgement is confirmed: `os` (survives a process crash) or `always`
   * (fsync, survives a power failure). The file stays consistent in both modes.
   *
   * @default 'os'
   */
  readonly sync?: 'always' | 'os'
  /**
   * Called when writes start to fail, for example because the disk is full, and when they succeed
   * again.
   *
   * @default process.emitWarning
   */
  readonly onWarning?: (message: string) => void
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
}

const TOPICS = Buffer.from('topics')
const TIME = Buffer.from('time')
/** Page size of the B-tree. */
const PAGE_BYTES = 4096
/** Mark used if there is no event; less than any other mark. */
const NO_MARK: LogMark = { storedMs: 0, highestMs: 0, startBytes: 0 }

/**
 * Stores events in an LMDB file: a memory-mapped B-tree with atomic writes.
 *
 * @throws {Error} if the folder cannot be used.
 */
export function createLmdbEvents(options: LmdbEventsOptions): EventsAdapter {
  const { folder, sync = 'os', nowMs = Date.now, onWarning } = options
  const what = 'the event store'
  const environment = openEnvironment(folder, {
    what,
    isFlushed: sync === 'always',
    ...(onWarning && { onWarning }),
  })
  const { openTable, transact, close } = environment
  // The reserved disk space is for removals, acknowledgements and changes by operators in the
  // store.
  const reserve = createReserve({
    what,
    folder,
    readFreeBytes: environment.readFreeBytes,
    onWarning: onWarning ?? ((message) => process.emitWarning(message)),
  })
  /** By topic number and sequence. */
  const events = openTable('events')
  /** By namespace and name. */
  const topics = openTable('topics')
  /** By namespace, topic and name. */
  const groups = openTable('groups')
  /** Number of topics ever created, and the last saved time. */
  const meta = openTable('notes')
  const savedMs = meta.getBinaryFast(TIME)?.readDoubleBE()
  let committing: Promise<unknown> = Promise.resolve()
  let isClosed = false

  /** @throws {GatewayError} 507 if a write of this size would use reserved disk space. */
  function requireRoom(bytes: () => number): void {
    if (reserve.isLow(bytes)) throw eventsFull(new Error('only reserved disk space is left'))
  }

  function findRecord(key: Buffer): TopicRecord | undefined {
    const bytes = topics.getBinaryFast(key)
    return bytes && parseTopicRecord(bytes)
  }

  function addTopic(): TopicRecord {
    const number = (meta.getBinaryFast(TOPICS)?.readUInt32BE() ?? 0) + 1
    const bytes = Buffer.allocUnsafe(4)
    bytes.writeUInt32BE(number)
    void meta.put(TOPICS, bytes)
    return { ...NO_EVENTS, storedMs: nowMs(), number, first: 1, startBytes: 0 }
  }

  const markReader =
    (number: number) =>
    (sequence: number): LogMark => {
      const bytes = events.getBinaryFast(toEventKey(number, sequence))
      return bytes === undefined ? NO_MARK : parseMark(bytes)
    }

  function* walk(number: number, from: number, end: number): Iterable<StoredEvent> {
    const range = { start: toEventKey(number, from), end: toEventKey(number, end) }
    let sequence = 0
    for (const { key, value } of events.getRange(range)) {
      // Concurrent removals only remove the oldest events; there are no other gaps.
      sequence = sequence === 0 ? parseSequence(key) : sequence + 1
      yield parseEvent(sequence, value)
    }
  }

  /** Runs changes in a transaction and converts errors. */
  async function change<T>(run: () => T): Promise<T> {
    const done = transact(run)
    committing = done.catch(() => {})
    try {
      return await done
    } catch (error) {
      throw isDiskFull(error, folder) ? eventsFull(error) : eventsUnavailable(error)
    }
  }

  /** Removes events before a sequence. Must run in a transaction. */
  function removeTo(key: Buffer, record: TopicRecord, first: number): void {
    const { number, last } = record
    const startBytes = first > last ? record.bytes : markReader(number)(first).startBytes
    for (let sequence = record.first; sequence < first; sequence++)
      void events.remove(toEventKey(number, sequence))
    void topics.put(key, formatTopicRecord({ ...record, first, startBytes }))
  }

  const log: EventLog = {
    name: 'lmdb',

    async append(batch) {
      requireRoom(() => toMaxBytes(batch))
      return change(() => {
        // A clock that runs behind, for example before NTP synchronization, must not make events
        // older.
        const now = Math.max(nowMs(), savedMs ?? 0)
        const touched = new Map<string, TopicRecord>()
        const sequences = batch.map(({ topic, event }) => {
          const key = toTopicKey(topic)
          const record = touched.get(key) ?? findRecord(Buffer.from(key)) ?? addTopic()
          const mark = toMark(record, event, now)
          const end = toEnd(record, mark, event)
          void events.put(toEventKey(record.number, end.last), formatEvent(event, mark))
          touched.set(key, { ...record, ...end })
          return end.last
        })
        for (const [key, record] of touched)
          void topics.put(Buffer.from(key), formatTopicRecord(record))
        return sequences
      })
    },

    read(topic, range) {
      const record = findRecord(Buffer.from(toTopicKey(topic)))
      if (record === undefined) return { events: [], end: range.from, next: undefined }
      const { number, first, last } = record
      const reader = {
        first,
        last,
        readMark: markReader(number),
        walk: (from: number) => walk(number, from, last + 1),
      }
      return readSlice(reader, range)
    },

    findTopic(topic) {
      const record = findRecord(Buffer.from(toTopicKey(topic)))
      return record && toState(topic, record)
    },

    listTopics(namespace) {
      const found: TopicState[] = []
      const range = namespace === undefined ? {} : toBounds(namespace)
      for (const { key, value } of topics.getRange(range)) {
        const [namespace = '', topic = ''] = Buffer.from(key).toString().split('\0')
        found.push(toState({ namespace, topic }, parseTopicRecord(value)))
      }
      return found
    },

    async retain(topic, retention, now) {
      const key = Buffer.from(toTopicKey(topic))
      const decide = (record: TopicRecord) =>
        toRetention(record.first, record, markReader(record.number), retention, now)
      const seen = findRecord(key)
      if (seen === undefined || decide(seen).first === seen.first) return false
      return change(() => {
        const record = findRecord(key)
        if (record === undefined) return false
        const { first, more } = decide(record)
        removeTo(key, record, first)
        return more
      })
    },

    readTime: () => savedMs,

    async saveTime(now) {
      const bytes = Buffer.allocUnsafe(8)
      bytes.writeDoubleBE(now)
      await change(() => void meta.put(TIME, bytes))
    },

    async deleteTopic(topic, idleSinceMs) {
      const text = toTopicKey(topic)
      const key = Buffer.from(text)
      const groupKeys = () => [...groups.getKeys(toBounds(text))].map((found) => Buffer.from(found))
      const isDeletable = (record: TopicRecord | undefined): record is TopicRecord =>
        record !== undefined &&
        (idleSinceMs === undefined ||
          (record.first > record.last &&
            record.storedMs <= idleSinceMs &&
            groupKeys().length === 0))
      const seen = findRecord(key)
      if (!isDeletable(seen)) return false
      // Events published during the deletion are removed with the last batch.
      for (let first = seen.first; first <= seen.last; first += MAX_REMOVED)
        await change(() => {
          const record = findRecord(key)
          if (record !== undefined)
            removeTo(
              key,
              record,
              Math.max(record.first, Math.min(first + MAX_REMOVED, record.last + 1)),
            )
        })
      return change(() => {
        const record = findRecord(key)
        if (!isDeletable(record)) return false
        removeTo(key, record, record.last + 1)
        for (const found of groupKeys()) void groups.remove(found)
        void topics.remove(key)
        return true
      })
    },

    async saveGroups(saves) {
      const isNew = ({ topic, name, state }: GroupSave): boolean =>
        state !== undefined && !groups.doesExist(Buffer.from(toTopicKey(topic, name)))
      if (saves.some(isNew)) requireRoom(() => saves.length * PAGE_BYTES)
      await change(() => {
        for (const { topic, name, state } of saves) {
          const key = Buffer.from(toTopicKey(topic, name))
          const topicKey = Buffer.from(toTopicKey(topic))
          if (state !== undefined && findRecord(topicKey) === undefined)
            void topics.put(topicKey, formatTopicRecord(addTopic()))
          if (state === undefined) void groups.remove(key)
          else void groups.put(key, Buffer.from(state))
        }
      })
    },

    readGroup(topic, name) {
      const state = groups.getBinary(Buffer.from(toTopicKey(topic, name)))
      return state && Buffer.from(state)
    },

    readGroups(topic) {
      const found: SavedGroup[] = []
      for (const { key, value } of groups.getRange(toBounds(toTopicKey(topic)))) {
        const name = Buffer.from(key).toString().split('\0').at(-1)!
        found.push({ name, state: Buffer.from(value) })
      }
      return found
    },

    async close() {
      if (isClosed) return
      isClosed = true
      await committing
      await close()
    },
  }
  return createLogEvents(log)
}

/**
 * Returns the maximum growth of the file in bytes when a batch is appended. Each event may copy a
 * page.
 */
function toMaxBytes(batch: Parameters<EventLog['append']>[0]): number {
  return batch.reduce((bytes, { event }) => bytes + PAGE_BYTES + event.payload.length, 0)
}

function toState({ namespace, topic }: EventTopic, record: TopicRecord): TopicState {
  const { first, last, bytes, startBytes } = record
  return { namespace, topic, first, last, bytes: bytes - startBytes }
}

/** Returns the key range of keys that start with a NUL-terminated name. */
function toBounds(name: string): { readonly start: Buffer; readonly end: Buffer } {
  return { start: Buffer.from(`${name}\0`), end: Buffer.from(`${name}\u0001`) }
}
