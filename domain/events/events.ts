import { randomUUID } from 'node:crypto'
import type {
  EventAppend,
  EventDelivery,
  EventRetention,
  EventsAdapter,
  EventTopic,
  GroupState,
  TopicState,
} from '../../core/contracts/events.ts'
import type { GatewayError } from '../../core/errors.ts'
import { isOutage } from '../../core/is-outage.ts'
import type { Quota } from '../../core/limits/quota.ts'
import { createGroupCommit } from '../../lib/async/batcher.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { checkEvent, checkName, checkTopic, MAX_EVENT_METADATA_BYTES } from './checks.ts'
import { type ConsumeOptions, toConsumption } from './consume-options.ts'
import { createConsumer, type EventConsumer } from './consumer.ts'
import { DEAD_METADATA_BYTES, type DeadReason, toDeadLetter, toDeadTopic } from './dead-letters.ts'
import { eventsError } from './errors.ts'
import { sizeOfEvent } from './log/index.ts'
import { type EventPage, type EventQuery, readEvents } from './page.ts'
import { startRetention } from './retention.ts'
import { createRetentionClock } from './retention-clock.ts'
import { createTopicCache } from './topic-cache.ts'

export interface EventsOptions {
  /**
   * Maximum length of a payload in bytes, at most 4 MiB and the limit of the adapter.
   *
   * @default 1048576
   */
  readonly maxPayloadBytes?: number
  /**
   * Maximum size of pending events in bytes; further events are rejected with 503.
   *
   * @default 67108864
   */
  readonly maxWaitingBytes?: number
  /**
   * Maximum number of topics per namespace, including dead-letter topics; further topics are
   * rejected with 429.
   *
   * @default 10000
   */
  readonly maxTopics?: number
  /** Maximum total number of topics in all namespaces. @default 100000 */
  readonly maxAllTopics?: number
  /**
   * Maximum number of named groups per topic; further groups are rejected with 429.
   *
   * @default 1000
   */
  readonly maxGroups?: number
  /** Maximum number of consumers; further consumers are rejected with 429. @default 10000 */
  readonly maxConsumers?: number
  /** Retention of topics. @default 7 days (604800000 ms) and 1 GiB (1073741824 bytes) */
  readonly retention?: Partial<EventRetention>
  /** Retention by topic name in all namespaces. @default `retention` */
  readonly topics?: Readonly<Record<string, Partial<EventRetention>>>
  /**
   * Quota in bytes of events per namespace; further events are rejected with 507.
   *
   * @default no limits
   */
  readonly quota?: Quota
  /** Interval between retention runs in milliseconds. @default 10000 */
  readonly retainMs?: number
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
  /**
   * Called with background errors of retention and dead letters, except if the store is unavailable
   * or full.
   *
   * @default a process warning
   */
  readonly onError?: (error: unknown) => void
}

export interface Publication {
  /** Unique UUID. @default random */
  readonly id?: string
  /** Must not be modified afterwards. */
  readonly payload: Uint8Array
  /** Must not be modified afterwards. @default none */
  readonly metadata?: Readonly<Record<string, string>>
  /** Time of the event, Unix time in milliseconds. @default now */
  readonly timestampMs?: number
}

/** Result of publishing an event. */
export interface Published {
  readonly id: string
  readonly sequence: number
  readonly timestampMs: number
}

/**
 * Event streams that add validation, limits and dead letters to an adapter.
 *
 * Methods throw or reject with `GatewayError`: 400 with the invalid input, 410 for a deleted group
 * or topic, 429 for too many topics, groups or consumers, 503 if the events are closed, unavailable
 * or overloaded, 507 if the store is full.
 */
export interface Events {
  readonly name: string
  readonly maxPayloadBytes: number
  /**
   * Resolves once the event is as durable as the adapter guarantees. Events published in the same
   * tick are stored together.
   */
  readonly publish: (topic: EventTopic, publication: Publication) => Promise<Published>
  /**
   * Starts a consumer. Events published after the promise resolves reach the consumer. Delivery is
   * at least once.
   */
  readonly consume: (topic: EventTopic, options?: ConsumeOptions) => Promise<EventConsumer>
  /** Reads a page of at most 1000 events and about 8 MiB. */
  readonly read: (topic: EventTopic, query?: EventQuery) => Promise<EventPage>
  /** Returns the topics that have or had events or a named group. */
  readonly listTopics: (namespace?: string) => Maybe<readonly TopicState[]>
  /** Returns the named groups of a topic. */
  readonly listGroups: (topic: EventTopic) => Maybe<readonly GroupState[]>
  /** Deletes a named group. Returns false if it does not exist. */
  readonly deleteGroup: (topic: EventTopic, name: string) => Maybe<boolean>
  /**
   * Deletes a topic with its events and groups, whose consumers fail with 410. Later events
   * recreate the topic. Returns false if it does not exist.
   */
  readonly deleteTopic: (topic: EventTopic) => Promise<boolean>
  /** Ends all consumers and rejects new ones. Other calls continue. */
  readonly endConsumers: () => Promise<void>
  /** Ends consumers, rejects calls, waits for pending writes, then closes the adapter. */
  readonly close: () => Promise<void>
}

/** Upper limit for payloads, because a page must have space for at least one event. */
const MAX_PAYLOAD_BYTES = 4 * 1024 * 1024
const RETENTION: EventRetention = { maxAgeMs: 7 * 24 * 60 * 60 * 1000, maxBytes: 1024 ** 3 }
const NO_METADATA = {}

/** Wraps an adapter, which it owns, with the behavior that all event stores share. */
export function createEvents(adapter: EventsAdapter, options: EventsOptions = {}): Events {
  const { maxTopics = 10_000, maxAllTopics = 100_000 } = options
  const { maxGroups = 1000, maxConsumers = 10_000 } = options
  const { retainMs = 10_000, nowMs = Date.now } = options
  const onError = (error: unknown): void =>
    void (isOutage(error) || (options.onError ?? warn)(error))
  const retention = { ...RETENTION, ...options.retention }
  const topicLimits = new Map(Object.entries(options.topics ?? {}))
  const ownMaxBytes = Math.min(options.maxPayloadBytes ?? 1024 * 1024, MAX_PAYLOAD_BYTES)
  const queue = createGroupCommit<EventAppend, number>({
    commit: (batch) => adapter.append(batch),
    sizeOf: ({ event }) => sizeOfEvent(event),
    toOverflowError: () => eventsError(503, 'too many pending events'),
    ...(options.maxWaitingBytes !== undefined && { maxWaitingBytes: options.maxWaitingBytes }),
  })
  const known = createTopicCache(adapter, {
    ...{ maxTopics, maxAllTopics },
    ...(options.quota !== undefined && { quota: options.quota }),
  })
  const retainer = startRetention(adapter, {
    everyMs: retainMs,
    nowMs:
      options.nowMs ?? createRetentionClock({ savedMs: adapter.readTime?.(), onJump: onError }),
    onError,
    onTopics: known.learn,
    retentionOf: ({ topic }) => ({ ...retention, ...topicLimits.get(topic) }),
  })
  const consumers = new Set<EventConsumer>()
  let lastMs = 0
  /** Existing topics, and topics being created. */
  let consuming = 0
  let isEnding = false
  let closing: Promise<void> | undefined

  // Remote adapters know their limit only once connected.
  function getMaxPayloadBytes(): number {
    const { maxEventBytes = Number.POSITIVE_INFINITY } = adapter
    return Math.min(ownMaxBytes, maxEventBytes - MAX_EVENT_METADATA_BYTES - DEAD_METADATA_BYTES)
  }

  function checkOpen(): void {
    if (closing !== undefined) throw isClosed()
  }

  async function endConsumers(): Promise<void> {
    isEnding = true
    await Promise.all([...consumers].map((consumer) => consumer.leave()))
  }

  /** Returns a monotonic time, so that events published without a timestamp are in order. */
  function now(): number {
    lastMs = Math.max(lastMs, nowMs())
    return lastMs
  }

  async function bury(
    topic: EventTopic,
    group: string | undefined,
    delivery: EventDelivery,
    reason: DeadReason,
  ): Promise<void> {
    const { namespace } = topic
    const dead = { namespace, topic: toDeadTopic(topic.topic) }
    await queue.push({ topic: dead, event: toDeadLetter(topic, group, delivery, reason, now()) })
    // Acknowledged last, so that after a crash in between, the event is in both topics rather than
    // in neither.
    await delivery.ack()
  }

  async function checkGroup(topic: EventTopic, name: string): Promise<void> {
    const groups = (await adapter.listGroups?.(topic)) ?? []
    if (groups.length < maxGroups || groups.some((group) => group.name === name)) return
    throw eventsError(429, `limit of ${maxGroups} groups of the topic reached`)
  }

  return {
    name: adapter.name,

    get maxPayloadBytes() {
      return getMaxPayloadBytes()
    },

    async publish(topic, publication) {
      checkOpen()
      checkTopic(topic)
      const { id = randomUUID(), metadata = NO_METADATA, payload } = publication
      const { timestampMs = now() } = publication
      const event = { id, timestampMs, metadata, payload }
      checkEvent(event, getMaxPayloadBytes())
      const isNew = !known.has(topic) && (await known.admit(topic))
      known.addBytes(topic, sizeOfEvent(event))
      const sequence = await queue.push({ topic, event })
      if (isNew) retainer.begin(topic)
      return { id, sequence, timestampMs }
    },

    async consume(topic, consumption = {}) {
      checkOpen()
      const { acks, group, settings } = toConsumption(topic, consumption)
      if (isEnding) throw isClosed()
      if (consuming >= maxConsumers)
        throw eventsError(429, `limit of ${maxConsumers} consumers reached`)
      consuming++
      try {
        if (group.name !== undefined) await checkGroup(topic, group.name)
        const isNew = !known.has(topic) && (await known.admit(topic))
        const member = await adapter.join(topic, group)
        if (isNew) retainer.begin(topic)
        const consumer: EventConsumer = createConsumer(member, {
          ...settings,
          acks,
          bury: (delivery, reason) => bury(topic, group.name, delivery, reason),
          onError,
          onDisconnect: () => {
            if (consumers.delete(consumer)) consuming--
          },
        })
        consumers.add(consumer)
        if (!isEnding) return consumer
        await consumer.leave()
      } catch (error) {
        consuming--
        throw error
      }
      throw isClosed()
    },

    async read(topic, query = {}) {
      checkOpen()
      checkTopic(topic)
      return readEvents(adapter, topic, query)
    },

    listTopics(namespace) {
      checkOpen()
      if (namespace !== undefined) checkName('namespace', namespace)
      return adapter.listTopics(namespace)
    },

    listGroups(topic) {
      checkOpen()
      checkTopic(topic)
      return adapter.listGroups?.(topic) ?? []
    },

    deleteGroup(topic, name) {
      checkOpen()
      checkTopic(topic)
      checkName('group', name)
      return adapter.deleteGroup?.(topic, name) ?? false
    },

    async deleteTopic(topic) {
      checkOpen()
      checkTopic(topic)
      known.forget(topic)
      const isDeleted = (await adapter.deleteTopic?.(topic)) ?? false
      if (isDeleted) known.learnBytes(topic.namespace, await adapter.listTopics(topic.namespace))
      return isDeleted
    },

    endConsumers,

    close() {
      closing ??= (async () => {
        await endConsumers()
        await queue.drained()
        await retainer.stop()
        await adapter.close?.()
      })()
      return closing
    },
  }
}

function isClosed(): GatewayError {
  return eventsError(503, 'the events are closed')
}

function warn(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error)
  process.emitWarning(`events: ${reason}`)
}
