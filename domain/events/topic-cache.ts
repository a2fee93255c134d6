import type { EventsAdapter, EventTopic, TopicState } from '../../core/contracts/events.ts'
import { noQuota, type Quota, quotaReached } from '../../core/limits/quota.ts'
import { formatSize } from '../../lib/text/units.ts'
import { EVENTS_ID, eventsError } from './errors.ts'

/** The topics there are, as far as is known here: others may make some, too. */
export interface TopicCache {
  readonly has: (topic: EventTopic) => boolean
  /**
   * Makes a topic known. False: it was.
   *
   * @throws {GatewayError} 429 when its namespace, or all of them, have too many.
   */
  readonly admit: (topic: EventTopic) => Promise<boolean>
  /** Those there are, in place of those known so far; one that was admitted since the last time may be about to be made, and stays. */
  readonly learn: (topics: readonly TopicState[]) => void
  readonly forget: (topic: EventTopic) => void
  /**
   * Counts an event of a topic that is known. What retention removes is counted until topics are learnt the next time.
   *
   * @throws {GatewayError} 507 when its namespace has reached its quota.
   */
  readonly addBytes: (topic: EventTopic, bytes: number) => void
  /** What the topics of a namespace take, in place of what was counted. */
  readonly learnBytes: (namespace: string, topics: readonly TopicState[]) => void
}

export interface TopicCacheOptions {
  /** Of a namespace. */
  readonly maxTopics: number
  /** Of all namespaces. */
  readonly maxAllTopics: number
  /** Bytes of events of a namespace. @default no limits */
  readonly quota?: Quota
}

export function createTopicCache(
  adapter: Pick<EventsAdapter, 'listTopics'>,
  { maxTopics, maxAllTopics, quota = noQuota('quota_events') }: TopicCacheOptions,
): TopicCache {
  /** By namespace. */
  const known = new Map<string, Set<string>>()
  /** Admitted since it was learnt what there is. */
  let readable: EventTopic[] = []
  let count = 0
  /** Bytes, by namespace. */
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
        throw eventsError(429, `the namespace ${namespace} has ${maxTopics} topics already`)
      if (count >= maxAllTopics)
        throw eventsError(429, `there are ${maxAllTopics} topics of all namespaces already`)
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
          remedy: 'delete topics or keep events for less long (events_max_age)',
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
