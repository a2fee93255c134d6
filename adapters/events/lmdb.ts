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
  formatTopicNote,
  parseSequence,
  parseTopicNote,
  type TopicNote,
  toEventKey,
} from './lmdb/topic-bytes.ts'

export interface LmdbEventsOptions {
  /** Folder of the database file; created with access for its owner only. Used by one process at a time. */
  readonly folder: string
  /**
   * When an event or acknowledgement is confirmed: `os` (survives a process crash) or `always` (fsync, survives a power failure). In any
   * case the file stays consistent. @default 'os'
   */
  readonly sync?: 'always' | 'os'
  /** Called when writes start to fail, for example on a full disk, and when they succeed again. @default process.emitWarning */
  readonly onWarning?: (message: string) => void
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
}

const TOPICS = Buffer.from('topics')
const TIME = Buffer.from('time')
/** Page size of the B-tree. */
const PAGE_BYTES = 4096
/** Mark of an absent event; less than any other. */
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
  // The rest of the disk is for removals, acknowledgements and the records of operators in the store.
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
  /** Number of topics ever created, and the saved time. */
  const notes = openTable('notes')
  const savedMs = notes.getBinaryFast(TIME)?.readDoubleBE()
  let committing: Promise<unknown> = Promise.resolve()
  let isClosed = false

  /** @throws {GatewayError} 507 if a write of this size would use the reserve. */
  function requireRoom(bytes: () => number): void {
    if (reserve.isLow(bytes)) throw eventsFull(new Error('only reserved disk space is left'))
  }

  function findNote(key: Buffer): TopicNote | undefined {
    const bytes = topics.getBinaryFast(key)
    return bytes && parseTopicNote(bytes)
  }

  function addTopic(): TopicNote {
    const number = (notes.getBinaryFast(TOPICS)?.readUInt32BE() ?? 0) + 1
    const bytes = Buffer.allocUnsafe(4)
    bytes.writeUInt32BE(number)
    void notes.put(TOPICS, bytes)
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
      // Concurrent removals start at the front; there are no gaps otherwise.
      sequence = sequence === 0 ? parseSequence(key) : sequence + 1
      yield parseEvent(sequence, value)
    }
  }

  /** Runs changes in a transaction and converts their errors. */
  async function change<T>(run: () => T): Promise<T> {
    const done = transact(run)
    committing = done.catch(() => {})
    try {
      return await done
    } catch (error) {
      throw isDiskFull(error, folder) ? eventsFull(error) : eventsUnavailable(error)
    }
  }

  /** Removes events before a sequence, in a transaction. */
  function removeTo(key: Buffer, note: TopicNote, first: number): void {
    const { number, last } = note
    const startBytes = first > last ? note.bytes : markReader(number)(first).startBytes
    for (let sequence = note.first; sequence < first; sequence++)
      void events.remove(toEventKey(number, sequence))
    void topics.put(key, formatTopicNote({ ...note, first, startBytes }))
  }

  const log: EventLog = {
    name: 'lmdb',

    async append(batch) {
      requireRoom(() => toWorstBytes(batch))
      return change(() => {
        // A clock that is behind, for example before NTP, does not make events older.
        const now = Math.max(nowMs(), savedMs ?? 0)
        const touched = new Map<string, TopicNote>()
        const sequences = batch.map(({ topic, event }) => {
          const key = toTopicKey(topic)
          const note = touched.get(key) ?? findNote(Buffer.from(key)) ?? addTopic()
          const mark = toMark(note, event, now)
          const end = toEnd(note, mark, event)
          void events.put(toEventKey(note.number, end.last), formatEvent(event, mark))
          touched.set(key, { ...note, ...end })
          return end.last
        })
        for (const [key, note] of touched) void topics.put(Buffer.from(key), formatTopicNote(note))
        return sequences
      })
    },

    read(topic, range) {
      const note = findNote(Buffer.from(toTopicKey(topic)))
      if (note === undefined) return { events: [], end: range.from, next: undefined }
      const { number, first, last } = note
      const reader = {
        first,
        last,
        readMark: markReader(number),
        walk: (from: number) => walk(number, from, last + 1),
      }
      return readSlice(reader, range)
    },

    findTopic(topic) {
      const note = findNote(Buffer.from(toTopicKey(topic)))
      return note && toState(topic, note)
    },

    listTopics(namespace) {
      const found: TopicState[] = []
      const range = namespace === undefined ? {} : toBounds(namespace)
      for (const { key, value } of topics.getRange(range)) {
        const [namespace = '', topic = ''] = Buffer.from(key).toString().split('\0')
        found.push(toState({ namespace, topic }, parseTopicNote(value)))
      }
      return found
    },

    async retain(topic, retention, now) {
      const key = Buffer.from(toTopicKey(topic))
      const decide = (note: TopicNote) =>
        toRetention(note.first, note, markReader(note.number), retention, now)
      const seen = findNote(key)
      if (seen === undefined || decide(seen).first === seen.first) return false
      return change(() => {
        const note = findNote(key)
        if (note === undefined) return false
        const { first, more } = decide(note)
        removeTo(key, note, first)
        return more
      })
    },

    readTime: () => savedMs,

    async saveTime(now) {
      const bytes = Buffer.allocUnsafe(8)
      bytes.writeDoubleBE(now)
      await change(() => void notes.put(TIME, bytes))
    },

    async deleteTopic(topic, idleSinceMs) {
      const text = toTopicKey(topic)
      const key = Buffer.from(text)
      const groupKeys = () => [...groups.getKeys(toBounds(text))].map((found) => Buffer.from(found))
      const mayGo = (note: TopicNote | undefined): note is TopicNote =>
        note !== undefined &&
        (idleSinceMs === undefined ||
          (note.first > note.last && note.storedMs <= idleSinceMs && groupKeys().length === 0))
      const seen = findNote(key)
      if (!mayGo(seen)) return false
      // Events published meanwhile are removed with the last part.
      for (let first = seen.first; first <= seen.last; first += MAX_REMOVED)
        await change(() => {
          const note = findNote(key)
          if (note !== undefined)
            removeTo(key, note, Math.max(note.first, Math.min(first + MAX_REMOVED, note.last + 1)))
        })
      return change(() => {
        const note = findNote(key)
        if (!mayGo(note)) return false
        removeTo(key, note, note.last + 1)
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
          if (state !== undefined && findNote(topicKey) === undefined)
            void topics.put(topicKey, formatTopicNote(addTopic()))
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

/** Maximum growth of the file in bytes by appending a batch: an event may copy a page. */
function toWorstBytes(batch: Parameters<EventLog['append']>[0]): number {
  return batch.reduce((bytes, { event }) => bytes + PAGE_BYTES + event.payload.length, 0)
}

function toState({ namespace, topic }: EventTopic, note: TopicNote): TopicState {
  const { first, last, bytes, startBytes } = note
  return { namespace, topic, first, last, bytes: bytes - startBytes }
}

/** Bounds of keys that start with a NUL-terminated name. */
function toBounds(name: string): { readonly start: Buffer; readonly end: Buffer } {
  return { start: Buffer.from(`${name}\0`), end: Buffer.from(`${name}\u0001`) }
}
