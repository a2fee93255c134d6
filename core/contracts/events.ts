import type { Maybe } from '../../lib/async/maybe.ts'
import type { GatewayError } from '../errors.ts'

/** An ordered stream of events (specification: Events). Namespaces have topics of their own. */
export interface EventTopic {
  readonly namespace: string
  readonly topic: string
}

/** What is published (specification: Event). */
export interface NewEvent {
  /** A UUID, of this event alone. An adapter that may store an event twice when it repeats itself tells by it that it did. */
  readonly id: string
  /** Milliseconds since 1970, whole ones: when it happened, says who published it. It need not rise from event to event. */
  readonly timestampMs: number
  readonly metadata: Readonly<Record<string, string>>
  /** The caller keeps its hands off it from now on. */
  readonly payload: Uint8Array
}

/** An event that is kept. Not to be changed by whoever reads it. */
export interface StoredEvent extends NewEvent {
  /** Its place in the topic: the first has 1, and none is left out. */
  readonly sequence: number
}

/** An event on its way into a topic, which it makes if it is not there. */
export interface EventAppend {
  readonly topic: EventTopic
  readonly event: NewEvent
}

/** Which events of a topic to read, in the order of their sequences. */
export interface EventRange {
  /** First sequence, from 1 on; of what is not kept any more, the first that is. */
  readonly from: number
  /** Leaves out events with an earlier timestamp; absent: none. */
  readonly sinceMs?: number
  /** Most events, from 1 on. */
  readonly limit: number
  /** Bytes of payloads and metadata after which no further event is read; one is, however long. */
  readonly maxBytes: number
}

/** Part of a range. */
export interface EventSlice {
  /** May be none although there are more: an adapter looks through so many at a time, and says where to go on. */
  readonly events: readonly StoredEvent[]
  /** The sequence to go on from; undefined: the end of the topic was reached. */
  readonly next: number | undefined
}

/** A topic that is there: it has, or had, events, or a named group. */
export interface TopicState extends EventTopic {
  /** Sequence of the oldest event that is kept; `last + 1`: none is. */
  readonly first: number
  /** Sequence of the newest event there ever was. */
  readonly last: number
  /** About what it takes. */
  readonly bytes: number
}

/** Where a group begins that is not there yet. With both, events must meet both; with neither it gets what is appended from then on. */
export interface EventStart {
  /** First sequence, from 1 on; it may be ahead of the topic. */
  readonly sequence?: number
  /** Events with an earlier timestamp are passed over, as long as there is the group: they count as acknowledged. */
  readonly sinceMs?: number
}

/** Who shares the events of a topic: each goes to one member of every group. */
export interface EventGroup {
  /**
   * Named groups are kept, members or not: which of their events were acknowledged is as durable as events are. Undefined: a
   * group of one member, which ends with it.
   */
  readonly name: string | undefined
  /** Of no account where the group is there. */
  readonly start: EventStart
  /**
   * Milliseconds after which an event that was pulled, and not acknowledged, may be pulled again; what the last member to
   * join says may hold for all. Undefined, and only without a name: nothing is acknowledged, every event is pulled once.
   */
  readonly ackWaitMs: number | undefined
}

/** An event in the hands of a member. */
export interface EventDelivery {
  readonly event: StoredEvent
  /**
   * How often the group has pulled it, this time included; from 1 on. After the sudden end of a server it may be less, never more:
   * what an adapter does not keep is the last count.
   */
  readonly attempt: number
  /**
   * The group is done with the event. Settles when that is as durable as events are. It may come late, after others have pulled the
   * event again, and may be repeated. Without acknowledgements it does nothing.
   */
  readonly ack: () => Maybe<void>
  /** The group may pull the event again, after so many milliseconds. Too late, or after {@link ack}, it does nothing. */
  readonly nack: (delayMs: number) => Maybe<void>
}

/** A member of a group. */
export interface EventMember {
  /**
   * Takes events that no member has, those that come again first, otherwise in the order of their sequences; a member that
   * leaves gives back what it had in that order, too. Waits for one;
   * resolves with none when the member leaves, and may do so when it has waited for a while. Not called again before it
   * has settled. A member that it rejects for only leaves.
   */
  readonly pull: (limit: number, maxBytes: number) => Promise<readonly EventDelivery[]>
  /** Ends the membership: what it has pulled and not acknowledged may be pulled by others at once. Repeated, it does nothing. */
  readonly leave: () => Maybe<void>
}

/** How much of a topic is kept: what is older, or more, goes, the oldest first. 0: no limit. */
export interface EventRetention {
  /** Milliseconds since the event was appended, whatever its timestamp. */
  readonly maxAgeMs: number
  /** About; the newest event stays, however long. */
  readonly maxBytes: number
}

/** A named group, and how far it is. */
export interface GroupState {
  readonly name: string
  /** Every event up to this sequence is done with. */
  readonly acked: number
  /** Events that were pulled and not acknowledged. */
  readonly pending: number
}

/**
 * Keeps events in order, and how far groups are with them. Adapters store and hand out; names, limits, timestamps, joining what
 * many publish, retry limits, dead letters, and how much a member may have at a time belong to what stands in front of
 * each of them, `domain/events/events.ts`. It alone calls them, and has checked what they get.
 *
 * Events are delivered at least once: an acknowledgement that settled holds whatever happens, one that did not may
 * be forgotten, and the event comes again. Nothing is ever taken for acknowledged that was not, but what retention removed.
 *
 * Several servers may work on the same events where the adapter says so: they then share groups as members of one server do.
 * One that has a log in its own process has groups from `domain/events/log/groups.ts`.
 *
 * Whatever fails is thrown as `domain/events/errors.ts` has it: full (507), or not to be reached (503).
 */
export interface EventsAdapter {
  readonly name: string
  /** Longest event it takes at the moment, bytes of id, metadata and payload; undefined: it has no limit of its own. */
  readonly maxEventBytes?: number
  /**
   * Puts events behind those there are, of each topic in the order they are given. Settles when they are as durable as the adapter
   * promises, and is not called again before. When it rejects, none of them counts as stored.
   *
   * @returns of each its sequence, or why it was not stored.
   */
  readonly append: (batch: readonly EventAppend[]) => Maybe<readonly (number | GatewayError)[]>
  /** Events of a topic; of one that is not there, none. */
  readonly read: (topic: EventTopic, range: EventRange) => Maybe<EventSlice>
  /** Joins a group, of a topic that need not be there yet, and is then if the group has a name. What is appended once it has settled reaches the group. */
  readonly join: (topic: EventTopic, group: EventGroup) => Maybe<EventMember>
  /** The topics that are there, by namespace, then by name. */
  readonly listTopics: (namespace?: string) => Maybe<readonly TopicState[]>
  /**
   * Has a topic keep so much, from now on. It is told so now and then, and removes what is due then, or has the
   * server it stands on do so. A topic without events, named groups and members is forgotten once nothing was appended to it for
   * so long as `toForgetMs` says; its sequences begin anew.
   *
   * @returns whether there is more to remove at once: it does so much at a time.
   */
  readonly retain?: (topic: EventTopic, retention: EventRetention, nowMs: number) => Maybe<boolean>
  /** The time that an earlier process saved last; undefined: none did. */
  readonly readTime?: () => number | undefined
  /** Saves the time of {@link retain}, now and then, for adapters whose events outlive the process. Milliseconds since 1970. */
  readonly saveTime?: (nowMs: number) => Maybe<void>
  /** The named groups of a topic, by name. */
  readonly listGroups?: (topic: EventTopic) => Maybe<readonly GroupState[]>
  /**
   * Forgets a named group; pulls of members it still has reject with 410 (`groupDeleted`). Whoever names it again begins
   * a new one. False: there was none.
   */
  readonly deleteGroup?: (topic: EventTopic, name: string) => Maybe<boolean>
  /**
   * Removes a topic with its events and groups; pulls of members it still has reject with 410 (`topicDeleted`). What is
   * appended afterwards begins it anew, with sequence 1. False: there was none.
   */
  readonly deleteTopic?: (topic: EventTopic) => Maybe<boolean>
  /** Members leave; waits for what is being stored, then releases files and connections. */
  readonly close?: () => Maybe<void>
}
