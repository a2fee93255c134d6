import type {
  EventAppend,
  EventRange,
  EventRetention,
  EventSlice,
  EventTopic,
  TopicState,
} from '../../../core/contracts/events.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'

/** What a named group leaves behind, as `group-state.ts` writes it. */
export interface SavedGroup {
  readonly name: string
  readonly state: Uint8Array
}

/** The state of a group to keep; undefined: it is forgotten. */
export interface GroupSave {
  readonly topic: EventTopic
  readonly name: string
  readonly state: Uint8Array | undefined
}

/** Part of a range, and where it ends. */
export interface LogSlice extends EventSlice {
  /** Every event before this sequence was looked at; not less than where the range began. */
  readonly end: number
}

/**
 * Events in order, in this process: what `groups.ts` makes an adapter of. Its methods are those of
 * `EventsAdapter`, where they have the same names; what it reads, it reads at once.
 */
export interface EventLog {
  readonly name: string
  readonly append: (batch: readonly EventAppend[]) => Maybe<readonly number[]>
  readonly read: (topic: EventTopic, range: EventRange) => LogSlice
  /** Undefined: the topic is not there. */
  readonly findTopic: (topic: EventTopic) => TopicState | undefined
  readonly listTopics: (namespace?: string) => readonly TopicState[]
  readonly retain: (topic: EventTopic, retention: EventRetention, nowMs: number) => Maybe<boolean>
  readonly readTime?: () => number | undefined
  readonly saveTime?: (nowMs: number) => Maybe<void>
  /**
   * Removes a topic with its events and states of groups, a part at a time. False: there was none.
   *
   * @param idleSinceMs only one that has neither, and to which nothing was appended since then.
   */
  readonly deleteTopic: (topic: EventTopic, idleSinceMs?: number) => Maybe<boolean>
  /** Keeps states, all or none, and makes topics that are not there; as durable as events are. */
  readonly saveGroups: (saves: readonly GroupSave[]) => Maybe<void>
  /** Named groups of a topic, by name. */
  readonly readGroups: (topic: EventTopic) => readonly SavedGroup[]
  readonly readGroup: (topic: EventTopic, name: string) => Uint8Array | undefined
  readonly close: () => Maybe<void>
}
