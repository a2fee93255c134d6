import type {
  EventAppend,
  EventRange,
  EventRetention,
  EventSlice,
  EventTopic,
  TopicState,
} from '../../../core/contracts/events.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'

/** Stored state of a named group, in the format of `group-state.ts`. */
export interface SavedGroup {
  readonly name: string
  readonly state: Uint8Array
}

/** State of a group to be stored; undefined to delete it. */
export interface GroupSave {
  readonly topic: EventTopic
  readonly name: string
  readonly state: Uint8Array | undefined
}

/** Part of a range, and where it ends. */
export interface LogSlice extends EventSlice {
  /** All events before this sequence were examined. It is not less than the start of the range. */
  readonly end: number
}

/**
 * Ordered events in this process, which `groups.ts` turns into an adapter. Methods with the same
 * names as in `EventsAdapter` have the same meaning; reads are synchronous.
 */
export interface EventLog {
  readonly name: string
  readonly append: (batch: readonly EventAppend[]) => Maybe<readonly number[]>
  readonly read: (topic: EventTopic, range: EventRange) => LogSlice
  /** Returns undefined if the topic does not exist. */
  readonly findTopic: (topic: EventTopic) => TopicState | undefined
  readonly listTopics: (namespace?: string) => readonly TopicState[]
  readonly retain: (topic: EventTopic, retention: EventRetention, nowMs: number) => Maybe<boolean>
  readonly readTime?: () => number | undefined
  readonly saveTime?: (nowMs: number) => Maybe<void>
  /**
   * Deletes a topic with its events and groups in batches. Returns false if it does not exist.
   *
   * @param idleSinceMs deletes the topic only if it has no events and groups, and nothing has been
   * appended since then.
   */
  readonly deleteTopic: (topic: EventTopic, idleSinceMs?: number) => Maybe<boolean>
  /**
   * Stores either all states or none, and creates missing topics. The states are as durable as
   * events.
   */
  readonly saveGroups: (saves: readonly GroupSave[]) => Maybe<void>
  /** Returns the named groups of a topic in the order of their names. */
  readonly readGroups: (topic: EventTopic) => readonly SavedGroup[]
  readonly readGroup: (topic: EventTopic, name: string) => Uint8Array | undefined
  readonly close: () => Maybe<void>
}
