import { setImmediate as nextTick } from 'node:timers/promises'
import type {
  EventRetention,
  EventsAdapter,
  EventTopic,
  TopicState,
} from '../../core/contracts/events.ts'

export interface RetentionOptions {
  /** Interval between runs in milliseconds. */
  readonly everyMs: number
  readonly nowMs: () => number
  readonly retentionOf: (topic: EventTopic) => EventRetention
  /** Called with all topics in each run. */
  readonly onTopics: (topics: readonly TopicState[]) => void
  /** Called for the first failure in a series. */
  readonly onError: (error: unknown) => void
}

/** Removes expired events in the background. */
export interface RetentionJob {
  /** Applies retention to a topic that is new to the adapter. Errors are ignored. */
  readonly begin: (topic: EventTopic) => void
  /** Stops the job after the current run. */
  readonly stop: () => Promise<void>
}

/** Number of topics processed per event loop tick. */
const TOPICS_PER_TICK = 100
const SAVE_TIME_MS = 10 * 60_000

export function startRetention(adapter: EventsAdapter, options: RetentionOptions): RetentionJob {
  const { everyMs, nowMs, retentionOf, onTopics, onError } = options
  let savedMs = 0
  let isFailing = false
  let isStopped = false
  let timer: NodeJS.Timeout
  let running: Promise<void> = Promise.resolve()

  async function retain(topic: EventTopic): Promise<void> {
    while (!isStopped && (await adapter.retain?.(topic, retentionOf(topic), nowMs())) === true)
      await nextTick()
  }

  async function saveTime(): Promise<void> {
    const now = nowMs()
    if (Math.abs(now - savedMs) < SAVE_TIME_MS) return
    await adapter.saveTime?.(now)
    savedMs = now
  }

  async function run(): Promise<void> {
    try {
      const topics = await adapter.listTopics()
      onTopics(topics)
      for (const [index, topic] of topics.entries()) {
        if (index % TOPICS_PER_TICK === TOPICS_PER_TICK - 1) await nextTick()
        await retain(topic)
      }
      // Done last, because on a full disk, removed events free the space for it.
      await saveTime()
      isFailing = false
    } catch (error) {
      if (!isFailing) onError(error)
      isFailing = true
    }
    if (!isStopped) schedule()
  }

  function schedule(): void {
    timer = setTimeout(() => {
      running = run()
    }, everyMs)
    timer.unref()
  }

  schedule()
  return {
    // The next run retries.
    begin: (topic) => void retain(topic).catch(() => {}),
    stop() {
      isStopped = true
      clearTimeout(timer)
      return running
    },
  }
}
