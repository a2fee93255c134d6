import type { EventsAdapter, EventTopic } from '../contracts/events.ts'
import { refuse } from './errors.ts'

/** The topics there are, as far as is known here: others may make some, too. */
export interface KnownTopics {
  readonly has: (topic: EventTopic) => boolean
  /**
   * Makes a topic known. False: it was.
   *
   * @throws {GatewayError} 429 when its namespace, or all of them, have too many.
   */
  readonly admit: (topic: EventTopic) => Promise<boolean>
  /** Those there are, in place of those known so far; one that was admitted since the last time may be about to be made, and stays. */
  readonly learn: (topics: readonly EventTopic[]) => void
  readonly forget: (topic: EventTopic) => void
}

export interface KnownTopicsOptions {
  /** Of a namespace. */
  readonly maxTopics: number
  /** Of all namespaces. */
  readonly maxAllTopics: number
}

export function createKnownTopics(
  adapter: Pick<EventsAdapter, 'listTopics'>,
  { maxTopics, maxAllTopics }: KnownTopicsOptions,
): KnownTopics {
  /** By namespace. */
  const known = new Map<string, Set<string>>()
  /** Admitted since it was learnt what there is. */
  let admitted: EventTopic[] = []
  let count = 0
  let learning: Promise<void> | undefined

  const has = ({ namespace, topic }: EventTopic): boolean =>
    known.get(namespace)?.has(topic) === true

  function add(one: EventTopic): void {
    if (has(one)) return
    const { namespace, topic } = one
    known.set(namespace, (known.get(namespace) ?? new Set()).add(topic))
    count++
  }

  function learn(topics: readonly EventTopic[]): void {
    known.clear()
    count = 0
    for (const topic of [...topics, ...admitted]) add(topic)
    admitted = []
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
        throw refuse(429, `the namespace ${namespace} has ${maxTopics} topics already`)
      if (count >= maxAllTopics)
        throw refuse(429, `there are ${maxAllTopics} topics of all namespaces already`)
      add(topic)
      admitted.push(topic)
      return true
    },

    forget({ namespace, topic }) {
      if (known.get(namespace)?.delete(topic) === true) count--
      admitted = admitted.filter((one) => one.namespace !== namespace || one.topic !== topic)
    },
  }
}
