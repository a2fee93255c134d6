import type { EventsAdapter, EventTopic } from '../contracts/events.ts'
import { isDeadTopic } from './dead-letters.ts'
import { refuse } from './errors.ts'
import { toTopicKey } from './topic-key.ts'

/** The topics there are, as far as is known here: others may make some, too. */
export interface KnownTopics {
  readonly has: (topic: EventTopic) => boolean
  /**
   * Makes a topic known. False: it was.
   *
   * @throws {GatewayError} 429 when there are too many.
   */
  readonly admit: (topic: EventTopic) => Promise<boolean>
  /** Those there are. */
  readonly learn: (topics: readonly EventTopic[]) => void
}

/** @param maxTopics those of dead letters do not count. */
export function createKnownTopics(
  adapter: Pick<EventsAdapter, 'listTopics'>,
  maxTopics: number,
): KnownTopics {
  const known = new Set<string>()
  let learning: Promise<void> | undefined

  function learn(topics: readonly EventTopic[]): void {
    for (const topic of topics) if (!isDeadTopic(topic.topic)) known.add(toTopicKey(topic))
  }

  return {
    has: (topic) => known.has(toTopicKey(topic)),
    learn,

    async admit(topic) {
      learning ??= Promise.resolve(adapter.listTopics()).then(learn)
      try {
        await learning
      } catch (error) {
        learning = undefined
        throw error
      }
      const key = toTopicKey(topic)
      if (known.has(key)) return false
      if (known.size >= maxTopics) throw refuse(429, `there are ${maxTopics} topics already`)
      known.add(key)
      return true
    },
  }
}
