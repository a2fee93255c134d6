import type { Maybe } from '../../lib/async/maybe.ts'
import type { GatewayError } from '../errors.ts'

/** An ordered stream of events in a namespace (specification: Events). */
export interface EventTopic {
  readonly namespace: string
  readonly topic: string
}

/** An event to publish (specification: Event). */
export interface NewEvent {
  /** UUID of the event. Adapters use it to detect duplicates after retries. */
  readonly id: string
  /** Time of the event set by its publisher, as integer milliseconds since 1970. Not necessarily increasing. */
  readonly timestampMs: number
  readonly metadata: Readonly<Record<string, string>>
  /** The caller must not change it afterwards. */
  readonly payload: Uint8Array
}

/** A stored event. Readers must not change it. */
export interface StoredEvent extends NewEvent {
  /** Position in the topic, starting at 1, without gaps. */
  readonly sequence: number
}

/** An event to append to a topic. The topic is created if necessary. */
export interface EventAppend {
  readonly topic: EventTopic
  readonly event: NewEvent
}

/** Range of events of a topic, ordered by sequence. */
export interface EventRange {
  /** First sequence, at least 1. Values below the first stored event start there. */
  readonly from: number
  /** Skips events with earlier timestamps. */
  readonly sinceMs?: number
  /** Maximum number of events, at least 1. */
  readonly limit: number
  /**
   * Maximum total bytes of payloads and metadata. Reading stops once the limit is reached, after at least one event.
   */
  readonly maxBytes: number
}

/** A page of a range. */
export interface EventSlice {
  /** May be empty although more events follow, because adapters scan a limited number per call. */
  readonly events: readonly StoredEvent[]
  /** First sequence of the next page; undefined at the end of the topic. */
  readonly next: number | undefined
}

/** State of an existing topic. A topic exists if it has or had events, or has a named group. */
export interface TopicState extends EventTopic {
  /** Sequence of the oldest stored event; `last + 1` if no events are stored. */
  readonly first: number
  /** Highest sequence so far. */
  readonly last: number
  /** Approximate size. */
  readonly bytes: number
}

/** Start position of a new group. If both are set, events must match both; if neither is set, only new events match. */
export interface EventStart {
  /** First sequence, at least 1. May be in the future. */
  readonly sequence?: number
  /** Skips events with earlier timestamps for the lifetime of the group. They count as acknowledged. */
  readonly sinceMs?: number
}

/** Consumer group of a topic: each event is delivered to one member of every group. */
export interface EventGroup {
  /**
   * Named groups persist without members, and their acknowledgements are as durable as events. Undefined for an
   * ephemeral group with a single member.
   */
  readonly name: string | undefined
  /** Ignored if the group exists. */
  readonly start: EventStart
  /**
   * Milliseconds until an unacknowledged event is redelivered. The value of the last member that joined may apply to
   * all. May be undefined without a name: events need no acknowledgement and are delivered once.
   */
  readonly ackWaitMs: number | undefined
}

/** An event delivered to a member. */
export interface EventDelivery {
  readonly event: StoredEvent
  /**
   * Number of deliveries to the group, including this one. After a crash it may be too low, but never too high, because
   * adapters need not persist the last count.
   */
  readonly attempt: number
  /**
   * Acknowledges the event. Settles when the acknowledgement is as durable as events. May be called repeatedly, and
   * even after a redelivery. No-op in groups without acknowledgements.
   */
  readonly ack: () => Maybe<void>
  /** Requests redelivery after `delayMs`. No-op once the lease has expired, or after {@link ack}. */
  readonly nack: (delayMs: number) => Maybe<void>
}

/** A member of a group. */
export interface EventMember {
  /**
   * Leases events that are not in flight: redeliveries first, including events from members that left, then by
   * sequence. Waits for an event. Resolves with an empty list when the member leaves, possibly with a delay. Must not
   * be called again before it settles. After a rejection, the member can only leave.
   */
  readonly pull: (limit: number, maxBytes: number) => Promise<readonly EventDelivery[]>
  /** Ends the membership. Other members may immediately pull its unacknowledged events. Idempotent. */
  readonly leave: () => Maybe<void>
}

/** Retention of a topic. Events beyond the limits are removed, oldest first. 0 disables a limit. */
export interface EventRetention {
  /** Milliseconds since the event was appended, independent of its timestamp. */
  readonly maxAgeMs: number
  /** Approximate limit; the newest event is always retained. */
  readonly maxBytes: number
}

/** Progress of a named group. */
export interface GroupState {
  readonly name: string
  /** All events up to this sequence are acknowledged. */
  readonly acked: number
  /** Number of events in flight: pulled but not acknowledged. */
  readonly pending: number
}

/**
 * Stores ordered events and the progress of groups. Adapters store and deliver. `domain/events/events.ts` handles
 * names, limits, timestamps, batching, retry limits, dead letters and prefetch. It is their only caller and validates
 * arguments.
 *
 * Delivery is at least once. A settled acknowledgement is permanent; an unsettled one may be lost, which causes a
 * redelivery. Unacknowledged events are never skipped unless retention has removed them.
 *
 * Several servers may share the events if the adapter supports it. They share groups like members on one server.
 * Adapters with an in-process log use the groups of `domain/events/log/groups.ts`.
 *
 * Errors are defined in `domain/events/errors.ts`: disk full (507) or unavailable (503).
 */
export interface EventsAdapter {
  readonly name: string
  /** Current maximum size of an event: bytes of id, metadata and payload. Undefined if the adapter has no limit. */
  readonly maxEventBytes?: number
  /**
   * Appends events, in the given order within each topic. Settles when they are as durable as the adapter guarantees.
   * Must not be called again before it settles. If it rejects, all events count as not stored.
   *
   * @returns for each event its sequence, or the error that prevented storing it.
   */
  readonly append: (batch: readonly EventAppend[]) => Maybe<readonly (number | GatewayError)[]>
  /** Reads events from a topic. Returns an empty slice for an unknown topic. */
  readonly read: (topic: EventTopic, range: EventRange) => Maybe<EventSlice>
  /**
   * Joins a group. The topic need not exist; a named group creates it. The group receives events appended after this
   * settles.
   */
  readonly join: (topic: EventTopic, group: EventGroup) => Maybe<EventMember>
  /** Lists topics, by namespace, then by name. */
  readonly listTopics: (namespace?: string) => Maybe<readonly TopicState[]>
  /**
   * Sets the retention of a topic and removes excess events, or delegates this to a remote server. Called periodically.
   * A topic without events, named groups and members is deleted after `toForgetMs` without an append; sequences then
   * restart at 1.
   *
   * @returns whether more events can be removed immediately, since each call removes a limited number.
   */
  readonly retain?: (topic: EventTopic, retention: EventRetention, nowMs: number) => Maybe<boolean>
  /** Returns the time last saved by an earlier process, or undefined if none. */
  readonly readTime?: () => number | undefined
  /** Periodically saves the time of {@link retain} if events outlive the process. Milliseconds since 1970. */
  readonly saveTime?: (nowMs: number) => Maybe<void>
  /** Lists the named groups of a topic, by name. */
  readonly listGroups?: (topic: EventTopic) => Maybe<readonly GroupState[]>
  /**
   * Deletes a named group. Pulls of its members reject with 410 (`groupDeleted`). Joining it again creates a new group.
   * Returns false if it did not exist.
   */
  readonly deleteGroup?: (topic: EventTopic, name: string) => Maybe<boolean>
  /**
   * Deletes a topic with its events and groups. Pulls of its members reject with 410 (`topicDeleted`). The next event
   * starts a new topic with sequence 1. Returns false if it did not exist.
   */
  readonly deleteTopic?: (topic: EventTopic) => Maybe<boolean>
  /** Ends all memberships, waits for pending writes, then releases files and connections. */
  readonly close?: () => Maybe<void>
}
