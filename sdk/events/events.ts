import { type KnownOptions, rejectUnknownOptions } from '../../lib/object/known-options.ts'
import type { CallOptions, Client } from '../client/client.ts'
import { findInternals } from '../internal/internals.ts'
import { Service } from '../service/service.ts'
import { beginSend, carryFields, endMessage, toTraceFields } from '../tracing/message-span.ts'
import { type EventChannel, openChannel } from './event-channel.ts'
import {
  EVENTS,
  type PlatformEvent,
  toPayload,
  toPlatformEvent,
  type WireEvent,
} from './platform-event.ts'

/** How the calls of events are made: on whose behalf, how long, until when. The namespace is that of the topics. */
export type EventsCallOptions = Pick<
  CallOptions,
  'context' | 'namespace' | 'signal' | 'timeoutMs' | 'retries' | 'address'
>

/** How to publish. */
export interface EventsPublishOptions extends EventsCallOptions {
  /** What is said about the event, besides the trace of the context. @default nothing */
  readonly metadata?: Readonly<Record<string, string>>
  /** When it happened. @default now */
  readonly timestamp?: Date
}

/** How to consume. */
export interface EventsConsumeOptions extends Omit<EventsCallOptions, 'retries'> {
  /** Shares the events with others of the same name, each goes to one of them; and goes on where they were. @default all events, from `offset` on */
  readonly group?: string
  /** Where to begin, of a group that is not there yet: a time, for events that happened then or later; or a sequence. @default what is published from now on */
  readonly offset?: Date | number
  /** Whether an event is acknowledged by asking for the next one; the one at which a loop is left is not. Otherwise the program does, by `ack()` and `nack()`. @default true */
  readonly autoAck?: boolean
  /** Milliseconds after which an event that was not acknowledged comes again; at most a day. @default 60000 */
  readonly ackWaitMs?: number
  /** How often an event comes again before it goes to the topic `<topic>.dead`; -1: as often as it must. @default -1 */
  readonly retryLimit?: number
  /** Most events that are on their way, or not acknowledged: 1, where each takes long. @default 64 */
  readonly maxInFlight?: number
}

/** What to read. */
export interface EventsReadOptions extends EventsCallOptions {
  /** Where to begin: a time, for events that happened then or later; or a sequence. @default the oldest that is kept */
  readonly offset?: Date | number
  /** Most events; 0: no limit. @default 250 */
  readonly limit?: number
}

/** What became of a message. */
export interface PublishedEvent {
  readonly id: string
  /** Its place in the topic. */
  readonly sequence: number
}

/** Which topics, and what of them. */
export interface EventsTopicsOptions extends EventsCallOptions {
  /** Whether their groups are told, too. @default false */
  readonly groups?: boolean
}

/** A group, and how far it is. */
export interface EventsGroup {
  readonly group: string
  /** Everything is done up to this sequence. */
  readonly acked: number
  /** Events that were delivered, and not acknowledged yet. */
  readonly pending: number
  /** Events that are kept, and stand behind `acked`. */
  readonly lag: number
}

/** A topic that is there. */
export interface EventsTopic {
  readonly topic: string
  /** Sequence of the oldest event that is kept; `last + 1`: none is. */
  readonly first: number
  /** Sequence of the newest event there ever was. */
  readonly last: number
  /** About what they take. */
  readonly bytes: number
  /** Where they were asked for. */
  readonly groups?: readonly EventsGroup[]
}

/**
 * Ordered, durable streams of events, kept by the service `events` (specification: Events, Library-level operations).
 *
 * What fails is a `ServiceError`: 400 naming what is malformed or too long, 429 for too many topics,
 * groups or consumers, 503 when the events cannot be reached, 507 when there is no room.
 */
export interface Events {
  /**
   * Puts a message behind the events of a topic. Resolves once it is kept. It is not repeated by itself: one whose fate is
   * unknown, since the service was lost, may be kept all the same.
   *
   * @param message bytes, or what JSON can say.
   */
  readonly publish: (
    topic: string,
    message: unknown,
    options?: EventsPublishOptions,
  ) => Promise<PublishedEvent>
  /**
   * The events of a topic, those there are and those to come, in order; those that come again stand before.
   *
   * With a group every event is delivered at least once, whatever breaks: the channel goes on by itself when the service was lost,
   * and so does whoever names the group again. Without one it goes on behind the last event, and nothing is
   * delivered twice; but without a group and without `autoAck` nobody knows any more what was acknowledged: then
   * the loop throws 502 or 503.
   *
   * ```ts
   * for await (const event of events.consume('orders', { group: 'billing' })) bill(event.unmarshal())
   * ```
   *
   * @throws {ServiceError} (the loop) 410 when the group, or the topic, was deleted.
   */
  readonly consume: (topic: string, options?: EventsConsumeOptions) => EventChannel
  /** Events of a topic that are kept, by timestamp, then by sequence; a limit goes by sequence. Of a topic that is not there, none. */
  readonly read: (topic: string, options?: EventsReadOptions) => Promise<PlatformEvent[]>
  /** The topics that are there: that have, or had, events, or a group. */
  readonly topics: (options?: EventsTopicsOptions) => Promise<EventsTopic[]>
  /** Forgets a group; one that is not there does not matter. Its consumers get 410. */
  readonly deleteGroup: (topic: string, group: string, options?: EventsCallOptions) => Promise<void>
  /** Removes a topic with its events and groups; one that is not there does not matter. Its consumers get 410; what is published afterwards begins it anew. */
  readonly deleteTopic: (topic: string, options?: EventsCallOptions) => Promise<void>
}

const CALL: KnownOptions<EventsCallOptions> = {
  context: true,
  namespace: true,
  signal: true,
  timeoutMs: true,
  retries: true,
  address: true,
}
const PUBLISH: KnownOptions<EventsPublishOptions> = { ...CALL, metadata: true, timestamp: true }
const { retries: _, ...STREAM } = CALL
const CONSUME: KnownOptions<EventsConsumeOptions> = {
  ...STREAM,
  group: true,
  offset: true,
  autoAck: true,
  ackWaitMs: true,
  retryLimit: true,
  maxInFlight: true,
}
const TOPICS: KnownOptions<EventsTopicsOptions> = { ...CALL, groups: true }
const READ: KnownOptions<EventsReadOptions> = { ...CALL, offset: true, limit: true }
const SERVICE = 'events'
const DEFAULT_LIMIT = 250

interface WirePage {
  readonly events: readonly WireEvent[]
  readonly next?: number
}

/**
 * Opens the events of the platform.
 *
 * ```ts
 * const events = createEvents(service)
 * await events.publish('orders', { id: 1, total: 12 }, { metadata: { source: 'shop' } })
 * for await (const event of events.consume('orders', { group: 'billing' })) bill(event.unmarshal())
 * ```
 *
 * Topics are those of the namespace of the call (`{ context: ctx }` passes it on), else of `mx`.
 *
 * @throws {TypeError} for an unknown option, here and by each method.
 */
export function createEvents(
  owner: Client | Service<object>,
  options: EventsCallOptions = {},
): Events {
  rejectUnknownOptions('createEvents', options, CALL)
  const client = owner instanceof Service ? owner.client : owner
  const traces = findInternals(owner)?.traces

  async function call<R>(endpoint: string, request: object, given: object): Promise<R> {
    return client.call<R>(SERVICE, endpoint, request, toCall(options, given))
  }

  async function findTopics(request: object, given: object): Promise<EventsTopic[]> {
    const { topics } = await call<{ topics: EventsTopic[] }>('Stream.Topics', request, given)
    return topics
  }

  return {
    async publish(topic, message, given = {}) {
      rejectUnknownOptions('events.publish', given, PUBLISH)
      const { metadata = {}, timestamp, context } = given
      const span = beginSend(traces, { system: EVENTS, topic }, context)
      const fields = { ...toTraceFields(context), ...metadata }
      const request = {
        topic,
        metadata: span === undefined ? fields : carryFields(fields, span),
        payload: toPayload(message),
        ...(timestamp !== undefined && {
          timestamp_ms: Math.max(1, toTime('timestamp', timestamp)),
        }),
      }
      try {
        const published = await call<PublishedEvent>('Stream.Publish', request, given)
        endMessage(span)
        return published
      } catch (error) {
        endMessage(span, error)
        throw error
      }
    },

    consume(topic, given = {}) {
      rejectUnknownOptions('events.consume', given, CONSUME)
      const { group, autoAck = true, ackWaitMs = 60_000, retryLimit = -1 } = given
      const { offset, maxInFlight = 64 } = given
      const acks = autoAck ? (group === undefined ? 'service' : 'loop') : 'program'
      const start = offset === undefined ? {} : toStart(offset)
      const { retries: __, ...streaming } = toCall(options, given)
      return openChannel({
        client,
        traces,
        call: streaming,
        acks,
        resumes: acks !== 'program' || group !== undefined,
        async begin() {
          // Also tells whether there is a service at all: what is lost later may come back.
          const [found] = await findTopics({ topic }, given)
          const isLive = group === undefined && offset === undefined
          return {
            topic,
            ...(group !== undefined && { group }),
            ...(isLive ? { sequence: (found?.last ?? 0) + 1 } : start),
            auto_ack: acks === 'service',
            ...(acks !== 'service' && { ack_wait: ackWaitMs * 1e6 }),
            retry_limit: retryLimit,
            max_in_flight: maxInFlight,
          }
        },
      })
    },

    async read(topic, given = {}) {
      rejectUnknownOptions('events.read', given, READ)
      const { offset, limit = DEFAULT_LIMIT } = given
      const { sequence = 1, offset_ms } = offset === undefined ? {} : toStart(offset)
      const events: PlatformEvent[] = []
      let next: number | undefined = sequence - 1
      while (next !== undefined) {
        const request = {
          topic,
          offset: next,
          limit: limit === 0 ? PAGE : Math.min(PAGE, limit - events.length),
          ...(offset_ms !== undefined && { since_ms: offset_ms }),
        }
        const page: WirePage = await call<WirePage>('Store.Read', request, given)
        for (const event of page.events) events.push(toPlatformEvent(event))
        next = events.length === limit ? undefined : page.next
      }
      // Each page is; what was published late may stand in a later one.
      return events.sort(compareEvents)
    },

    topics: async (given = {}) => {
      rejectUnknownOptions('events.topics', given, TOPICS)
      return findTopics({ groups: given.groups === true }, given)
    },

    async deleteGroup(topic, group, given = {}) {
      rejectUnknownOptions('events.deleteGroup', given, CALL)
      await call('Stream.DeleteGroup', { topic, group }, given)
    },

    async deleteTopic(topic, given = {}) {
      rejectUnknownOptions('events.deleteTopic', given, CALL)
      await call('Stream.DeleteTopic', { topic }, given)
    },
  }
}

/** Events of a page. */
const PAGE = 1000

function toCall(base: EventsCallOptions, given: object): CallOptions {
  const call: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && Object.hasOwn(CALL, name)) call[name] = value
  return call
}

function compareEvents(a: PlatformEvent, b: PlatformEvent): number {
  return a.timestamp.getTime() - b.timestamp.getTime() || a.sequence - b.sequence
}

/** @throws {TypeError} */
function toStart(offset: Date | number): { sequence?: number; offset_ms?: number } {
  // 0 stands for no time.
  if (typeof offset !== 'number') return { offset_ms: Math.max(1, toTime('offset', offset)) }
  if (Number.isSafeInteger(offset) && offset >= 1) return { sequence: offset }
  throw new TypeError(`offset must be a Date, or a sequence from 1 on, got ${offset}`)
}

/** @throws {TypeError} */
function toTime(what: string, date: Date): number {
  const ms = date instanceof Date ? date.getTime() : Number.NaN
  if (ms >= 0) return ms
  throw new TypeError(`${what} must be a Date from 1970 on, got ${String(date)}`)
}
