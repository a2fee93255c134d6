import t from 'tap'
import {
  type AcquireOptions,
  createFairQueue,
  type FairQueueOptions,
} from '../../../lib/async/fair-queue.ts'

function open(options: Omit<FairQueueOptions, 'toError'>) {
  const queue = createFairQueue({ ...options, toError: (reason) => new Error(reason) })
  const started: string[] = []
  const releases: (() => void)[] = []
  /** Acquires a slot and does not release it. */
  const acquireSlot = async (key: string, label = key, options?: AcquireOptions): Promise<void> => {
    const release = await queue.acquire(key, options)
    started.push(label)
    releases.push(release)
  }
  /** Releases the slot granted first and returns the labels of all started waiters. */
  const next = async (): Promise<readonly string[]> => {
    releases.shift()!()
    await Promise.resolve()
    await Promise.resolve()
    return started
  }
  return { queue, acquireSlot, next, started }
}

t.test('grants places round robin among keys, in order of arrival within a key', async (t) => {
  const { acquireSlot, next, started } = open({ slots: 1 })
  await acquireSlot('a', 'a1')
  for (const [key, label] of [
    ['a', 'a2'],
    ['a', 'a3'],
    ['b', 'b1'],
    ['b', 'b2'],
    ['c', 'c1'],
  ] as const)
    void acquireSlot(key, label)
  for (let i = 0; i < 5; i++) await next()
  t.same(started, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

t.test('releasing a place twice frees one place', async (t) => {
  const { queue } = open({ slots: 1 })
  const release = await queue.acquire('a')
  release()
  release()
  await queue.acquire('a')
  await t.rejects(queue.acquire('a', { maxWaitMs: 1 }), { message: 'late' })
})

t.test(
  'with leavesSlots, a key leaves slots to other keys and uses more while they are free',
  async (t) => {
    const { acquireSlot, next, started } = open({ slots: 4, leavesSlots: true })
    for (let i = 0; i < 4; i++) void acquireSlot('a', `a${i}`)
    await Promise.resolve()
    await Promise.resolve()
    t.same(started, ['a0', 'a1'])
    await acquireSlot('b')
    t.same(started, ['a0', 'a1', 'b'], 'another key gets a place immediately')
    t.same(await next(), ['a0', 'a1', 'b', 'a2'], 'the first key gets the next released place')
  },
)

t.test('with leavesSlots and one slot, keys alternate', async (t) => {
  const { acquireSlot, next } = open({ slots: 1, leavesSlots: true })
  await acquireSlot('a', 'a1')
  void acquireSlot('a', 'a2')
  void acquireSlot('b')
  t.same(await next(), ['a1', 'b'])
  t.same(await next(), ['a1', 'b', 'a2'])
})

t.test('waiters with priority go first, except for every fourth place', async (t) => {
  const { acquireSlot, next, started } = open({ slots: 1 })
  await acquireSlot('x', 'holder')
  for (let i = 0; i < 3; i++) void acquireSlot(`stranger${i}`, `s${i}`)
  for (let i = 0; i < 6; i++) void acquireSlot('known', `k${i}`, { hasPriority: true })
  for (let i = 0; i < 9; i++) await next()
  t.same(started, ['holder', 'k0', 'k1', 'k2', 's0', 'k3', 'k4', 'k5', 's1', 's2'])
})

t.test('rejects waiters beyond the limit of one key and of all keys', async (t) => {
  const { queue } = open({ slots: 1, maxWaitingPerKey: 2, maxWaiting: 3 })
  const release = await queue.acquire('a')
  const waiting = [queue.acquire('a'), queue.acquire('b'), queue.acquire('a')]
  await t.rejects(queue.acquire('a'), { message: 'full' })
  await t.rejects(queue.acquire('c'), { message: 'full' })
  const first = queue.acquire('c', { hasPriority: true })
  release()
  await Promise.all([first, ...waiting].map(async (next) => (await next)()))
})

t.test('a waiter that aborts or times out does not block the next one', async (t) => {
  const { queue } = open({ slots: 1 })
  const release = await queue.acquire('a')
  const cancellation = new AbortController()
  const pending = queue.acquire('a', { signal: cancellation.signal })
  const late = queue.acquire('a', { maxWaitMs: 1 })
  const next = queue.acquire('a')
  cancellation.abort(new Error('cancelled'))
  await t.rejects(pending, { message: 'cancelled' })
  await t.rejects(late, { message: 'late' })
  release()
  ;(await next)()
  await t.rejects(queue.acquire('a', { signal: cancellation.signal }), { message: 'cancelled' })
  ;(await queue.acquire('a'))()
})
