import { setImmediate as nextTurn } from 'node:timers/promises'
import type {
  EventRetention,
  EventsAdapter,
  EventTopic,
  TopicState,
} from '../../core/contracts/events.ts'

export interface RetentionOptions {
  /** Milliseconds from one look to the next. */
  readonly everyMs: number
  readonly nowMs: () => number
  /** How much of a topic is kept. */
  readonly retentionOf: (topic: EventTopic) => EventRetention
  /** Told what topics there are, at every look. */
  readonly onTopics: (topics: readonly TopicState[]) => void
  /** Told of the first failure, and of none that follows until it went well again. */
  readonly onError: (error: unknown) => void
}

/** Removes what topics need not keep, in the background. */
export interface RetentionJob {
  /** Tells the adapter about a topic that is new to it, which may come to nothing. */
  readonly begin: (topic: EventTopic) => void
  /** Ends it, once what is under way is done. */
  readonly stop: () => Promise<void>
}

/** Topics looked at in one turn of the event loop. */
const AT_ONCE = 100
const SAVE_TIME_MS = 10 * 60_000

export function startRetention(adapter: EventsAdapter, options: RetentionOptions): RetentionJob {
  const { everyMs, nowMs, retentionOf, onTopics, onError } = options
  let savedMs = 0
  let isFailing = false
  let isOver = false
  let timer: NodeJS.Timeout
  let running: Promise<void> = Promise.resolve()

  async function retain(topic: EventTopic): Promise<void> {
    while (!isOver && (await adapter.retain?.(topic, retentionOf(topic), nowMs())) === true)
      await nextTurn()
  }

  async function saveTime(): Promise<void> {
    const now = nowMs()
    if (Math.abs(now - savedMs) < SAVE_TIME_MS) return
    await adapter.saveTime?.(now)
    savedMs = now
  }

  async function look(): Promise<void> {
    try {
      const topics = await adapter.listTopics()
      onTopics(topics)
      for (const [index, topic] of topics.entries()) {
        if (index % AT_ONCE === AT_ONCE - 1) await nextTurn()
        await retain(topic)
      }
      // Last: on a full disk, what was removed makes room for it.
      await saveTime()
      isFailing = false
    } catch (error) {
      if (!isFailing) onError(error)
      isFailing = true
    }
    if (!isOver) schedule()
  }

  function schedule(): void {
    timer = setTimeout(() => {
      running = look()
    }, everyMs)
    timer.unref()
  }

  schedule()
  return {
    // What fails now is tried again at the next look.
    begin: (topic) => void retain(topic).catch(() => {}),
    stop() {
      isOver = true
      clearTimeout(timer)
      return running
    },
  }
}
