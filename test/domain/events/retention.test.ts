import t from 'tap'
import type { EventRetention, EventsAdapter, TopicState } from '../../../core/contracts/events.ts'
import { startRetention } from '../../../domain/events/retention.ts'

const toState = (topic: string): TopicState => ({
  namespace: 'mx',
  topic,
  first: 1,
  last: 1,
  bytes: 1,
})

/** An adapter with events to remove for this number of rounds. */
function open(t: { teardown: (stop: () => unknown) => void }, topics: string[], rounds = 0) {
  const calls: { topic: string; retention: EventRetention; nowMs: number }[] = []
  const errors: unknown[] = []
  const updates: string[][] = []
  const state = { failure: undefined as Error | undefined, rounds }
  const adapter = {
    listTopics: () => topics.map(toState),
    retain: ({ topic }, retention, nowMs) => {
      if (state.failure !== undefined) throw state.failure
      calls.push({ topic, retention, nowMs })
      return state.rounds-- > 0
    },
  } as Pick<EventsAdapter, 'listTopics' | 'retain'> as EventsAdapter
  const retainer = startRetention(adapter, {
    everyMs: 1,
    nowMs: () => 5,
    retentionOf: ({ topic }) => ({ maxAgeMs: topic.length, maxBytes: 7 }),
    onTopics: (topics) => updates.push(topics.map(({ topic }) => topic)),
    onError: (error) => errors.push(error),
  })
  t.teardown(retainer.stop)
  return { retainer, calls, errors, updates, state }
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1))
}

t.test('applies the limits of every topic periodically', async (t) => {
  const { calls, updates } = open(t, ['a', 'bcd'])
  await waitUntil(() => calls.length >= 4)
  t.strictSame(calls.slice(0, 2), [
    { topic: 'a', retention: { maxAgeMs: 1, maxBytes: 7 }, nowMs: 5 },
    { topic: 'bcd', retention: { maxAgeMs: 3, maxBytes: 7 }, nowMs: 5 },
  ])
  t.strictSame(updates[0], ['a', 'bcd'])
})

t.test('continues immediately with a topic that has more to remove', async (t) => {
  const { calls } = open(t, ['a', 'b'], 3)
  await waitUntil(() => calls.length >= 5)
  t.strictSame(
    calls.slice(0, 5).map(({ topic }) => topic),
    ['a', 'a', 'a', 'a', 'b'],
  )
})

t.test('applies limits to a new topic before the next interval', async (t) => {
  const { retainer, calls } = open(t, [])
  retainer.begin({ namespace: 'mx', topic: 'new' })
  t.match(calls, [{ topic: 'new' }])
})

t.test('reports a failure once until it succeeds again', async (t) => {
  const { errors, state, calls } = open(t, ['a'])
  state.failure = new Error('unavailable')
  await waitUntil(() => errors.length === 1)
  const before = calls.length
  state.failure = undefined
  await waitUntil(() => calls.length > before)
  state.failure = new Error('again')
  await waitUntil(() => errors.length === 2)
  t.strictSame(
    errors.map((error) => (error as Error).message),
    ['unavailable', 'again'],
  )
})

t.test('removes nothing after stop', async (t) => {
  const { retainer, calls } = open(t, ['a'], Number.POSITIVE_INFINITY)
  await waitUntil(() => calls.length > 2)
  await retainer.stop()
  const { length } = calls
  // Waits for several rounds of another retention.
  const other = open(t, ['b'])
  await waitUntil(() => other.calls.length >= 5)
  t.equal(calls.length, length)
})
