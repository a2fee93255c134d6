import { type KnownOptions, rejectUnknownOptions } from '../../lib/object/known-options.ts'
import type { CallOptions, Client } from '../client/client.ts'
import { findInternals } from '../internal/internals.ts'
import { Service } from '../service/service.ts'
import { beginSend, carryFields, endMessage, toTraceFields } from '../tracing/message-span.ts'
import { type EventChannel, openChannel } from './event-channel.ts'
import {
  MESSAGING_SYSTEM,
  type PlatformEvent,
  toPayload,
  toPlatformEvent,
  type WireEvent,
} from './platform-event.ts'

/** Call options of event methods. The namespace is the namespace of the topics. */
export type EventsCallOptions = Pick<
  CallOptions,
  'context' | 'namespace' | 'signal' | 'timeoutMs' | 'retries' | 'address'
>

/** Options of {@link Events.publish}. */
export interface EventsPublishOptions extends EventsCallOptions {
  /** Metadata of the event, in addition to the trace of the context. @default none */
  readonly metadata?: Readonly<Record<string, string>>
  /** Time of the event. @default now */
  readonly timestamp?: Date
}

/** Options of {@link Events.consume}. */
export interface EventsConsumeOptions extends Omit<EventsCallOptions, 'retries'> {
  /**
   * Consumer group: each event is delivered to one of its consumers, and the group continues at its last position.
   * @default all events from `offset` on
   */
  readonly group?: string
  /**
   * Start of a new group: a time (events of that time or later) or a sequence. @default events published from now on
   */
  readonly offset?: Date | number
  /**
   * Acknowledge an event when the next one is requested. The event at which a loop is left is not acknowledged. If
   * false, call `ack()` and `nack()`.
   * @default true
   */
  readonly autoAck?: boolean
  /** Milliseconds until an unacknowledged event is redelivered; at most a day. @default 60000 */
  readonly ackWaitMs?: number
  /**
   * Number of redeliveries before an event is moved to the `<topic>.dead` topic; -1 for unlimited.
   * @default -1
   */
  readonly retryLimit?: number
  /** Maximum unacknowledged events in flight. Use 1 if each event takes long. @default 64 */
  readonly maxInFlight?: number
}

/** Options of {@link Events.read}. */
export interface EventsReadOptions extends EventsCallOptions {
  /** Start: a time (events of that time or later) or a sequence. @default the oldest stored event */
  readonly offset?: Date | number
  /** Maximum number of events; 0 for no limit. @default 250 */
  readonly limit?: number
}

/** Result of {@link Events.publish}. */
export interface PublishedEvent {
  readonly id: string
  /** Position in the topic. */
  readonly sequence: number
}

/** Options of {@link Events.topics}. */
export interface EventsTopicsOptions extends EventsCallOptions {
  /** Include consumer groups. @default false */
  readonly groups?: boolean
}

/** A consumer group and its position. */
export interface EventsGroup {
  readonly group: string
  /** Every event up to this sequence is acknowledged. */
  readonly acked: number
  /** Delivered events without acknowledgement. */
  readonly pending: number
  /** Stored events after `acked`. */
  readonly lag: number
}

/** A topic. */
export interface EventsTopic {
  readonly topic: string
  /** Sequence of the oldest stored event; `last + 1` if none. */
  readonly first: number
  /** Sequence of the newest event ever published. */
  readonly last: number
  /** Approximate size. */
  readonly bytes: number
  /** Present only if requested. */
  readonly groups?: readonly EventsGroup[]
}

/**
 * Ordered, durable event streams, stored by the `events` service (specification: Events, Library-level operations).
 *
 * Methods reject with a `ServiceError`: 400 for malformed input or a message that is too long, 429 for too many topics,
 * groups or consumers, 503 if the service is unavailable, and 507 if there is no space.
 */
export interface Events {
  /**
   * Appends a message to a topic. Resolves when it is stored. Not retried automatically: if the connection to the
   * service is lost, the message may nevertheless be stored.
   *
   * @param message bytes, or a JSON value.
   */
  readonly publish: (
    topic: string,
    message: unknown,
    options?: EventsPublishOptions,
  ) => Promise<PublishedEvent>
  /**
   * Consumes the stored and future events of a topic, in order; redelivered events come first.
   *
   * With a group, events are delivered at least once: after a failure, the channel or another consumer of the group
   * resumes. Without a group, the channel resumes after the last event, and no event is delivered twice. Without a
   * group and with `autoAck: false`, the acknowledged events are unknown after a failure, so the loop throws 502 or
   * 503.
   *
   * ```ts
   * for await (const event of events.consume('orders', { group: 'billing' })) bill(event.unmarshal())
   * ```
   *
   * @throws {ServiceError} (in the loop) 410 when the group or the topic was deleted.
   */
  readonly consume: (topic: string, options?: EventsConsumeOptions) => EventChannel
  /**
   * Stored events of a topic, sorted by timestamp, then by sequence; a limit applies in order of sequence. Empty for an
   * unknown topic.
   */
  readonly read: (topic: string, options?: EventsReadOptions) => Promise<PlatformEvent[]>
  /** Topics that have or had events, or have a group. */
  readonly topics: (options?: EventsTopicsOptions) => Promise<EventsTopic[]>
  /** Deletes a group, if it exists. Its consumers fail with 410. */
  readonly deleteGroup: (topic: string, group: string, options?: EventsCallOptions) => Promise<void>
  /**
   * Deletes a topic with its events and groups, if it exists. Its consumers fail with 410; publishing recreates the
   * topic.
   */
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
 * Topics belong to the namespace of the call (`{ context: ctx }` passes it on), else to `mx`.
 *
 * @throws {TypeError} for an unknown option, here and in each method.
 */
export function createEvents(
  owner: Client | Service<object>,
  options: EventsCallOptions = {},
): Events {
  rejectUnknownOptions('createEvents', options, CALL)
  const client = owner instanceof Service ? owner.client : owner
  const traces = findInternals(owner)?.traces

  async function call<R>(endpoint: string, request: object, callOptions: object): Promise<R> {
    return client.call<R>(SERVICE, endpoint, request, toCall(options, callOptions))
  }

  async function findTopics(request: object, callOptions: object): Promise<EventsTopic[]> {
    const { topics } = await call<{ topics: EventsTopic[] }>('Stream.Topics', request, callOptions)
    return topics
  }

  return {
    async publish(topic, message, callOptions = {}) {
      rejectUnknownOptions('events.publish', callOptions, PUBLISH)
      const { metadata = {}, timestamp, context } = callOptions
      const span = beginSend(traces, { system: MESSAGING_SYSTEM, topic }, context)
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
        const published = await call<PublishedEvent>('Stream.Publish', request, callOptions)
        endMessage(span)
        return published
      } catch (error) {
        endMessage(span, error)
        throw error
      }
    },

    consume(topic, callOptions = {}) {
      rejectUnknownOptions('events.consume', callOptions, CONSUME)
      const { group, autoAck = true, ackWaitMs = 60_000, retryLimit = -1 } = callOptions
      const { offset, maxInFlight = 64 } = callOptions
      const acks = autoAck ? (group === undefined ? 'service' : 'loop') : 'program'
      const start = offset === undefined ? {} : toStart(offset)
      const { retries: __, ...streaming } = toCall(options, callOptions)
      return openChannel({
        client,
        traces,
        call: streaming,
        acks,
        resumes: acks !== 'program' || group !== undefined,
        async begin() {
          // Also verifies that the service exists, because later failures are treated as temporary.
          const [topicInfo] = await findTopics({ topic }, callOptions)
          const isLive = group === undefined && offset === undefined
          return {
            topic,
            ...(group !== undefined && { group }),
            ...(isLive ? { sequence: (topicInfo?.last ?? 0) + 1 } : start),
            auto_ack: acks === 'service',
            ...(acks !== 'service' && { ack_wait: ackWaitMs * 1e6 }),
            retry_limit: retryLimit,
            max_in_flight: maxInFlight,
          }
        },
      })
    },

    async read(topic, callOptions = {}) {
      rejectUnknownOptions('events.read', callOptions, READ)
      const { offset, limit = DEFAULT_LIMIT } = callOptions
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
        const page: WirePage = await call<WirePage>('Store.Read', request, callOptions)
        for (const event of page.events) events.push(toPlatformEvent(event))
        next = events.length === limit ? undefined : page.next
      }
      // Each page is sorted, but events published late may be on a later page.
      return events.sort(compareEvents)
    },

    topics: async (callOptions = {}) => {
      rejectUnknownOptions('events.topics', callOptions, TOPICS)
      return findTopics({ groups: callOptions.groups === true }, callOptions)
    },

    async deleteGroup(topic, group, callOptions = {}) {
      rejectUnknownOptions('events.deleteGroup', callOptions, CALL)
      await call('Stream.DeleteGroup', { topic, group }, callOptions)
    },

    async deleteTopic(topic, callOptions = {}) {
      rejectUnknownOptions('events.deleteTopic', callOptions, CALL)
      await call('Stream.DeleteTopic', { topic }, callOptions)
    },
  }
}

/** Events per page. */
const PAGE = 1000

function toCall(base: EventsCallOptions, callOptions: object): CallOptions {
  const call: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(callOptions))
    if (value !== undefined && Object.hasOwn(CALL, name)) call[name] = value
  return call
}

function compareEvents(a: PlatformEvent, b: PlatformEvent): number {
  return a.timestamp.getTime() - b.timestamp.getTime() || a.sequence - b.sequence
}

function toStart(offset: Date | number): { sequence?: number; offset_ms?: number } {
  // Sending 0 would mean that no time is set.
  if (typeof offset !== 'number') return { offset_ms: Math.max(1, toTime('offset', offset)) }
  if (Number.isSafeInteger(offset) && offset >= 1) return { sequence: offset }
  throw new TypeError(`offset must be a Date, or a sequence from 1 on, got ${offset}`)
}

function toTime(option: string, date: Date): number {
  const ms = date instanceof Date ? date.getTime() : Number.NaN
  if (ms >= 0) return ms
  throw new TypeError(`${option} must be a Date from 1970 on, got ${String(date)}`)
}
