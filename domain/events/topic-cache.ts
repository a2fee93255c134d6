import type { EventsAdapter, EventTopic, TopicState } from '../../core/contracts/events.ts'
import { noQuota, type Quota, quotaReached } from '../../core/limits/quota.ts'
import { formatSize } from '../../lib/text/units.ts'
import { EVENTS_ID, eventsError } from './errors.ts'

/** Known topics and their sizes. Other servers may also create topics. */
export interface TopicCache {
  readonly has: (topic: EventTopic) => boolean
  /**
   * Adds a topic. Returns false if it is already known.
   *
   * @throws {GatewayError} 429 if its namespace, or all namespaces together, have too many topics.
   */
  readonly admit: (topic: EventTopic) => Promise<boolean>
  /**
   * Replaces the known topics with the existing ones. Topics added since the last call are
   * retained, because they may not have been created yet.
   */
  readonly learn: (topics: readonly TopicState[]) => void
  readonly forget: (topic: EventTopic) => void
  /**
   * Adds the size of an event to a known topic. Removed events are counted until the next {@link
   * learn}.
   *
   * @throws {GatewayError} 507 if the namespace exceeds its quota.
   */
  readonly addBytes: (topic: EventTopic, bytes: number) => void
  /** Replaces the counted size of a namespace with the size of its topics. */
  readonly learnBytes: (namespace: string, topics: readonly TopicState[]) => void
}

export interface TopicCacheOptions {
  /** Maximum number of topics per namespace. */
  readonly maxTopics: number
  /** Maximum total number of topics in all namespaces. */
  readonly maxAllTopics: number
  /** Quota in bytes of events per namespace. @default no limits */
  readonly quota?: Quota
}

export function createTopicCache(
  adapter: Pick<EventsAdapter, 'listTopics'>,
  { maxTopics, maxAllTopics, quota = noQuota('quota_events') }: TopicCacheOptions,
): TopicCache {
  /** Topics by namespace. */
  const known = new Map<string, Set<string>>()
  /** Topics added since the last {@link TopicCache.learn}. */
  let readable: EventTopic[] = []
  let count = 0
  /** Counted bytes by namespace. */
  const usage = new Map<string, number>()
  let learning: Promise<void> | undefined

  const has = ({ namespace, topic }: EventTopic): boolean =>
    known.get(namespace)?.has(topic) === true

  function add(one: EventTopic): void {
    if (has(one)) return
    const { namespace, topic } = one
    known.set(namespace, (known.get(namespace) ?? new Set()).add(topic))
    count++
  }

  function learn(topics: readonly TopicState[]): void {
    usage.clear()
    for (const { namespace, bytes } of topics)
      usage.set(namespace, (usage.get(namespace) ?? 0) + bytes)
    known.clear()
    count = 0
    for (const topic of [...topics, ...readable]) add(topic)
    readable = []
  }

  return {
    has,
    learn,

    async admit(topic) {
      learning ??= Promise.resolve(adapter.listTopics()).then(learn)
      try {
        await learning
      } catch (error) {
        learning = undefined
        throw error
      }
      if (has(topic)) return false
      const { namespace } = topic
      if ((known.get(namespace)?.size ?? 0) >= maxTopics)
        throw eventsError(429, `limit of ${maxTopics} topics of namespace ${namespace} reached`)
      if (count >= maxAllTopics)
        throw eventsError(429, `limit of ${maxAllTopics} topics in all namespaces reached`)
      add(topic)
      readable.push(topic)
      return true
    },

    addBytes({ namespace }, bytes) {
      const limit = quota.limitOf(namespace)
      if (limit === Number.POSITIVE_INFINITY) return
      const used = usage.get(namespace) ?? 0
      if (used + bytes > limit)
        throw quotaReached(EVENTS_ID, 507, quota, {
          ...{ namespace, limit: formatSize(limit), used: `${used} bytes` },
          remedy: 'delete topics or shorten the retention (events_max_age)',
        })
      usage.set(namespace, used + bytes)
    },

    learnBytes(namespace, topics) {
      usage.set(
        namespace,
        topics.reduce((sum, { bytes }) => sum + bytes, 0),
      )
    },

    forget({ namespace, topic }) {
      if (known.get(namespace)?.delete(topic) === true) count--
      readable = readable.filter((one) => one.namespace !== namespace || one.topic !== topic)
    },
  }
}
