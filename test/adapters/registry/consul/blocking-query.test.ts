import t, { type Test } from 'tap'
import {
  createPacer,
  type Pace,
  type QueryParameters,
  startBlockingQuery,
} from '../../../../adapters/registry/consul/blocking-query.ts'
import {
  type ConsulResponse,
  joinChunks,
} from '../../../../adapters/registry/consul/http/client.ts'
import { createConsulError } from '../../../../adapters/registry/consul/http/errors.ts'
import { createSlots, type Slots } from '../../../../adapters/registry/consul/watch-slots.ts'
import { waitUntil } from '../../../contracts/registry.ts'

const PACE: Pace = {
  gapMs: 0,
  burst: 1,
  waitSeconds: 60,
  shortWaitSeconds: 10,
  retryMs: 1,
  maxRetryMs: 4,
  deniedMs: 1,
  lingerMs: 0,
}

type Step = readonly [index: string, body: string] | Error

/** Responds with the given steps, then hangs; records queries and results. */
function runQuery(
  t: Test,
  steps: readonly Step[],
  { pace = {}, slots = createSlots(1, 1, () => {}) }: { pace?: Partial<Pace>; slots?: Slots } = {},
): {
  requests: (string | undefined)[]
  eras: number[]
  blocking: number[]
  atMs: number[]
  events: string[]
  /** Responses whose memory may be reused. */
  released: string[]
  stop: () => void
  settled: Promise<void>
} {
  const requests: (string | undefined)[] = []
  const eras: number[] = []
  const blocking: number[] = []
  const atMs: number[] = []
  const events: string[] = []
  const released: string[] = []
  const query = startBlockingQuery({
    request({ index, era, waitSeconds, signal }: QueryParameters): Promise<ConsulResponse> {
      const step = steps[requests.length]
      requests.push(index)
      eras.push(era)
      blocking.push(waitSeconds)
      atMs.push(performance.now())
      if (step instanceof Error) return Promise.reject(step)
      if (step !== undefined)
        return Promise.resolve({
          index: step[0],
          filtered: false,
          era: requests.length,
          chunks: [Buffer.from(step[1])],
          release: () => void released.push(step[1]),
        })
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(new Error('aborted'))),
      )
    },
    onResponse(response) {
      const text = joinChunks(response.chunks).toString()
      if (text === 'bad') throw new SyntaxError('no JSON')
      events.push(text)
    },
    onOutage: (reason) => events.push(reason === undefined ? 'back' : reason.message),
    idleMs: () => 0,
    slots,
    pace: { ...PACE, ...pace },
  })
  const stop = (): void => query.stop()
  t.teardown(stop)
  return { requests, eras, blocking, atMs, events, released, stop, settled: query.settled }
}

t.test('blocks each query on the index of the last response', async (t) => {
  const { requests, events, released, blocking, eras } = runQuery(t, [
    ['7', 'a'],
    ['9', 'b'],
  ])
  await waitUntil(() => requests.length === 3)
  t.same(requests, [undefined, '7', '9'])
  t.same(eras.slice(1), [1, 2], 'with the era of the index')
  t.same(events, ['a', 'b'])
  t.same(released, ['a', 'b'])
  t.ok(blocking.every((seconds) => seconds > 45 && seconds <= 60))
  t.ok(new Set(blocking).size > 1, 'with jitter')
})

t.test('reports an outage and resets an index that goes backwards', async (t) => {
  const { requests, events } = runQuery(t, [
    ['900719925474099312', 'a'],
    ['900719925474099311', 'b'],
    ['20', 'c'],
  ])
  await waitUntil(() => requests.length === 4)
  t.same(requests, [undefined, '900719925474099312', undefined, '20'])
  t.same(events, ['a', 'Consul was restarted with a different state', 'b', 'back', 'c'])
})

t.test('replaces a missing or zero index by one', async (t) => {
  const { requests } = runQuery(t, [
    ['0', 'a'],
    ['', 'b'],
    ['x', 'c'],
  ])
  await waitUntil(() => requests.length >= 2)
  t.equal(requests[1], '1')
  await waitUntil(() => requests.length === 4)
})

t.test('ignores an unchanged response', async (t) => {
  const { requests, events } = runQuery(t, [
    ['1', 'a'],
    ['2', 'a'],
    ['3', 'b'],
    ['4', 'a'],
  ])
  await waitUntil(() => requests.length === 5)
  t.same(events, ['a', 'b', 'a'])
})

t.test('paces fast responses after the first ones', async (t) => {
  const wait = createPacer({ gapMs: 40, burst: 2 })
  t.same([wait(1000), wait(1001), wait(1002)], [0, 0, 38], 'a burst, then one per interval')
  t.same([wait(1040), wait(1080)], [40, 40])
  t.same([wait(5000), wait(5000), wait(5000)], [0, 0, 40], 'another burst after a pause')
  const steps = Array.from({ length: 5 }, (_, i): Step => [String(i + 1), String(i)])
  const { requests, atMs } = runQuery(t, steps, { pace: { gapMs: 40, burst: 2 } })
  await waitUntil(() => requests.length === 5)
  t.ok(atMs[4]! - atMs[0]! >= 118, `${atMs}`)
})

t.test('sends the first query immediately', async (t) => {
  const queries = Array.from({ length: 500 }, () =>
    runQuery(t, [], { pace: { gapMs: 1000, burst: 1 } }),
  )
  // Before any timer.
  for (let i = 0; i < 5; i++) await null
  t.equal(queries.filter(({ requests }) => requests.length === 0).length, 0)
})

t.test(
  'backs off after failures, reports them once, and then queries without an index',
  async (t) => {
    const failure = createConsulError('gone')
    const { requests, events, atMs } = runQuery(
      t,
      [['7', 'a'], failure, failure, failure, ['3', 'a'], ['4', 'bad'], ['5', 'b']],
      {
        pace: { retryMs: 20, maxRetryMs: 80 },
      },
    )
    await waitUntil(() => requests.length === 8)
    t.same(requests, [undefined, '7', undefined, undefined, undefined, '3', undefined, '5'])
    t.same(events, ['a', 'gone', 'back', 'no JSON', 'b', 'back'])
    t.ok(atMs[4]! - atMs[3]! >= 38, 'increasing delays')
  },
)

t.test('reports when an outage becomes a denial', async (t) => {
  const denied = createConsulError('denied', { denied: true })
  const steps = [new Error('reset'), new Error('refused'), denied, denied, new Error('reset')]
  const { requests, events } = runQuery(t, [...steps, ['1', 'a']])
  await waitUntil(() => requests.length === 7)
  t.same(events, ['reset', 'denied', 'reset', 'a', 'back'])
})

t.test('retries slowly after a denial', async (t) => {
  const denied = createConsulError('denied', { denied: true })
  const { requests, atMs } = runQuery(t, [denied, ['1', 'a']], { pace: { deniedMs: 100 } })
  await waitUntil(() => requests.length >= 2)
  t.ok(atMs[1]! - atMs[0]! >= 48)
})

t.test('polls without a slot', async (t) => {
  const slots = createSlots(1, 30, () => {})
  const first = runQuery(t, [['1', 'a']], { slots })
  await waitUntil(() => first.requests.length === 2)
  const second = runQuery(
    t,
    [
      ['5', 'a'],
      ['6', 'b'],
      ['7', 'c'],
    ],
    { slots },
  )
  await waitUntil(() => second.requests.length === 2)
  t.same(second.requests, [undefined, undefined])
  t.ok(second.atMs[1]! - second.atMs[0]! >= 20)
  first.stop()
  await waitUntil(() => second.requests.at(-1) !== undefined)
  t.equal(second.requests.at(-1), '7', 'a free slot is used')
})

t.test('blocks only briefly while slots are scarce', async (t) => {
  const slots = createSlots(1, 30, () => {})
  const first = runQuery(
    t,
    [
      ['1', 'a'],
      ['2', 'b'],
    ],
    { slots },
  )
  await waitUntil(() => first.blocking.length === 3)
  t.ok(first.blocking.every((seconds) => seconds >= 45))
  const other = slots.join({ idleMs: () => 0 })
  t.teardown(other.leave)
  const second = runQuery(t, [['1', 'a']], { slots })
  await waitUntil(() => second.blocking.length > 0)
  t.ok(second.blocking.every((seconds) => seconds <= 10))
})

t.test('polls when Consul rejects the connection of a blocking query', async (t) => {
  const slots = createSlots(100, 30, () => {})
  const connectionLimit = createConsulError('reset', { overLimit: true })
  const { requests, events } = runQuery(t, [['7', 'a'], connectionLimit, ['8', 'b']], { slots })
  await waitUntil(() => requests.length >= 3)
  t.same(requests.slice(0, 3), [undefined, '7', undefined])
  await waitUntil(() => events.length === 2)
  t.same(events, ['a', 'b'], 'no outage is reported')
  t.equal(slots.capacity(), 8)
})

t.test('reports an outage if the next query fails, too', async (t) => {
  const slots = createSlots(100, 30, () => {})
  const connectionLimit = createConsulError('reset', { overLimit: true })
  const { events } = runQuery(
    t,
    [['7', 'a'], connectionLimit, createConsulError('refused'), ['8', 'b']],
    {
      slots,
    },
  )
  await waitUntil(() => events.length === 4)
  t.same(events, ['a', 'refused', 'b', 'back'])
  t.equal(slots.capacity(), 100)
})

t.test('acquires no slot if it is stopped at the first response', async (t) => {
  const slots = createSlots(1, 30, () => {})
  for (let i = 0; i < 50; i++) {
    const { settled, stop } = runQuery(t, [['1', 'a']], { slots })
    for (let round = 0; round < i; round++) await null
    if (i % 2 === 0) await settled
    stop()
  }
  const { requests } = runQuery(t, [['7', 'a']], { slots })
  await waitUntil(() => requests.length === 2)
  t.equal(requests[1], '7')
})

t.test('sends and reports nothing once it is stopped in any state', async (t) => {
  const pending = runQuery(t, [['1', 'a']])
  await waitUntil(() => pending.requests.length === 2)
  pending.stop()
  pending.stop()
  const failing = runQuery(t, [new Error('unavailable')], { pace: { retryMs: 100_000 } })
  await failing.settled
  failing.stop()
  const fresh = runQuery(t, [['1', 'a']])
  fresh.stop()
  await fresh.settled
  t.equal(pending.requests.length, 2)
  t.same([...pending.events, ...failing.events], ['a', 'unavailable'])
})
