import type { Maybe } from '../../lib/async/maybe.ts'
import type { GatewayError } from '../errors.ts'

/** An ordered stream of events in a namespace (specification: Events). */
export interface EventTopic {
  readonly namespace: string
  readonly topic: string
}

/** An event to publish (specification: Event). */
export interface NewEvent {
  /** Unique UUID, by which adapters detect duplicates of a retry. */
  readonly id: string
  /** Time of the event according to its publisher, milliseconds since 1970, an integer. Not necessarily increasing. */
  readonly timestampMs: number
  readonly metadata: Readonly<Record<string, string>>
  /** The caller must not change it afterwards. */
  readonly payload: Uint8Array
}

/** A stored event. Readers must not change it. */
export interface StoredEvent extends NewEvent {
  /** Position in the topic, from 1, without gaps. */
  readonly sequence: number
}

/** An event to append to a topic, which is created if necessary. */
export interface EventAppend {
  readonly topic: EventTopic
  readonly event: NewEvent
}

/** Range of events of a topic, in the order of their sequences. */
export interface EventRange {
  /** First sequence, at least 1; earlier than the first stored event: that one. */
  readonly from: number
  /** Skips events with an earlier timestamp. */
  readonly sinceMs?: number
  /** Maximum number of events, at least 1. */
  readonly limit: number
  /** Bytes of payloads and metadata after which no further event is read; at least one is read. */
  readonly maxBytes: number
}

/** Page of a range. */
export interface EventSlice {
  /** May be empty although there are more: adapters scan a limited number at a time. */
  readonly events: readonly StoredEvent[]
  /** Sequence of the next page; undefined: the end of the topic was reached. */
  readonly next: number | undefined
}

/** State of an existing topic: one with events, past events, or a named group. */
export interface TopicState extends EventTopic {
  /** Sequence of the oldest stored event; `last + 1` if none. */
  readonly first: number
  /** Highest sequence so far. */
  readonly last: number
  /** Approximate size. */
  readonly bytes: number
}

/** Start position of a new group. With both, events must match both; with neither, it receives only new events. */
export interface EventStart {
  /** First sequence, at least 1; it may be in the future. */
  readonly sequence?: number
  /** Skips events with an earlier timestamp for the lifetime of the group: they count as acknowledged. */
  readonly sinceMs?: number
}

/** Consumer group of a topic: each event is delivered to one member of every group. */
export interface EventGroup {
  /**
   * Named groups persist without members; their acknowledgements are as durable as events. Undefined: an ephemeral group of one
   * member.
   */
  readonly name: string | undefined
  /** Ignored if the group exists. */
  readonly start: EventStart
  /**
   * Milliseconds after which an unacknowledged event is redelivered; the value of the last member to join may apply to all.
   * Undefined, only without a name: no acknowledgements, every event is delivered once.
   */
  readonly ackWaitMs: number | undefined
}

/** An event delivered to a member. */
export interface EventDelivery {
  readonly event: StoredEvent
  /**
   * Number of deliveries to the group, including this one. After a crash it may be lower, never higher: adapters need not persist the
   * last count.
   */
  readonly attempt: number
  /**
   * Acknowledges the event. Settles when the acknowledgement is as durable as events. May be called late, after a redelivery, and
   * repeatedly. No-op without acknowledgements.
   */
  readonly ack: () => Maybe<void>
  /** Requests redelivery after so many milliseconds. No-op if it is late, or after {@link ack}. */
  readonly nack: (delayMs: number) => Maybe<void>
}

/** A member of a group. */
export interface EventMember {
  /**
   * Leases events that are not in flight: redeliveries first, then in the order of their sequences; so are the events of a member that
   * leaves. Waits for an event; resolves with none when the member leaves, and may do so after a while. Not called again before it has
   * settled. After a rejection the member only leaves.
   */
  readonly pull: (limit: number, maxBytes: number) => Promise<readonly EventDelivery[]>
  /** Ends the membership: its unacknowledged events may be pulled by others at once. Idempotent. */
  readonly leave: () => Maybe<void>
}

/** Retention of a topic: older or excess events are removed, oldest first. 0: no limit. */
export interface EventRetention {
  /** Milliseconds since the event was appended, independent of its timestamp. */
  readonly maxAgeMs: number
  /** Approximate; the newest event is always retained. */
  readonly maxBytes: number
}

/** Progress of a named group. */
export interface GroupState {
  readonly name: string
  /** All events up to this sequence are acknowledged. */
  readonly acked: number
  /** Events in flight: pulled and not acknowledged. */
  readonly pending: number
}

/**
 * Stores ordered events and the progress of groups. Adapters store and deliver; `domain/events/events.ts` handles names, limits,
 * timestamps, batching, retry limits, dead letters and prefetch. It is their only caller, and has validated the arguments.
 *
 * Delivery is at least once: a settled acknowledgement is permanent; an unsettled one may be lost, and the event is redelivered.
 * Unacknowledged events are never skipped, unless retention removed them.
 *
 * Several servers may share the events if the adapter supports it: they then share groups like members of one server. Adapters with a
 * log in their own process use the groups of `domain/events/log/groups.ts`.
 *
 * Errors are defined in `domain/events/errors.ts`: full (507) or unavailable (503).
 */
export interface EventsAdapter {
  readonly name: string
  /** Current maximum size of an event, bytes of id, metadata and payload; undefined: no limit of the adapter. */
  readonly maxEventBytes?: number
  /**
   * Appends events, of each topic in the given order. Settles when they are as durable as the adapter guarantees, and is not called
   * again before. When it rejects, none counts as stored.
   *
   * @returns for each event its sequence, or why it was not stored.
   */
  readonly append: (batch: readonly EventAppend[]) => Maybe<readonly (number | GatewayError)[]>
  /** Reads events of a topic; none for an unknown topic. */
  readonly read: (topic: EventTopic, range: EventRange) => Maybe<EventSlice>
  /** Joins a group. The topic need not exist; a named group creates it. The group receives events appended after this has settled. */
  readonly join: (topic: EventTopic, group: EventGroup) => Maybe<EventMember>
  /** Lists topics, by namespace, then by name. */
  readonly listTopics: (namespace?: string) => Maybe<readonly TopicState[]>
  /**
   * Sets the retention of a topic and removes excess events, or has a remote server do so. Called periodically. A topic without events,
   * named groups and members is deleted once nothing was appended for the time of `toForgetMs`; its sequences restart.
   *
   * @returns whether there is more to remove at once: each call removes a limited number.
   */
  readonly retain?: (topic: EventTopic, retention: EventRetention, nowMs: number) => Maybe<boolean>
  /** Last time that an earlier process saved; undefined if none. */
  readonly readTime?: () => number | undefined
  /** Saves the time of {@link retain} periodically, for adapters whose events outlive the process. Milliseconds since 1970. */
  readonly saveTime?: (nowMs: number) => Maybe<void>
  /** Lists the named groups of a topic, by name. */
  readonly listGroups?: (topic: EventTopic) => Maybe<readonly GroupState[]>
  /**
   * Deletes a named group; pulls of its members reject with 410 (`groupDeleted`). Joining it again creates a new one. False: there was
   * none.
   */
  readonly deleteGroup?: (topic: EventTopic, name: string) => Maybe<boolean>
  /**
   * Deletes a topic with its events and groups; pulls of members reject with 410 (`topicDeleted`). Later events start a new topic with
   * sequence 1. False: there was none.
   */
  readonly deleteTopic?: (topic: EventTopic) => Maybe<boolean>
  /** Ends all memberships, waits for pending writes, then releases files and connections. */
  readonly close?: () => Maybe<void>
}
