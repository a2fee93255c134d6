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

/** State of a group to store; undefined: deletes it. */
export interface GroupSave {
  readonly topic: EventTopic
  readonly name: string
  readonly state: Uint8Array | undefined
}

/** Part of a range, with its end. */
export interface LogSlice extends EventSlice {
  /** All events before this sequence were examined; not less than the start of the range. */
  readonly end: number
}

/**
 * Ordered events in this process; `groups.ts` turns it into an adapter. Methods with names of `EventsAdapter` have the
 * same meaning; reads are synchronous.
 */
export interface EventLog {
  readonly name: string
  readonly append: (batch: readonly EventAppend[]) => Maybe<readonly number[]>
  readonly read: (topic: EventTopic, range: EventRange) => LogSlice
  /** Undefined: the topic does not exist. */
  readonly findTopic: (topic: EventTopic) => TopicState | undefined
  readonly listTopics: (namespace?: string) => readonly TopicState[]
  readonly retain: (topic: EventTopic, retention: EventRetention, nowMs: number) => Maybe<boolean>
  readonly readTime?: () => number | undefined
  readonly saveTime?: (nowMs: number) => Maybe<void>
  /**
   * Deletes a topic with its events and groups, in parts. False: it does not exist.
   *
   * @param idleSinceMs deletes the topic only if it has neither and nothing was appended since then.
   */
  readonly deleteTopic: (topic: EventTopic, idleSinceMs?: number) => Maybe<boolean>
  /** Stores states, all or none, and creates missing topics; as durable as events. */
  readonly saveGroups: (saves: readonly GroupSave[]) => Maybe<void>
  /** Named groups of a topic, ordered by name. */
  readonly readGroups: (topic: EventTopic) => readonly SavedGroup[]
  readonly readGroup: (topic: EventTopic, name: string) => Uint8Array | undefined
  readonly close: () => Maybe<void>
}
