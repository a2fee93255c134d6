import t from 'tap'
import type { EventDelivery } from '../../../../core/contracts/events.ts'
import { createPulls } from '../../../../domain/events/log/pull-queue.ts'

/** A queue with numbers instead of deliveries. */
function open() {
  const available: number[] = []
  let failure: Error | undefined
  const pulls = createPulls<string>((_, limit) => {
    if (failure !== undefined) throw failure
    return available.splice(0, limit) as unknown as EventDelivery[]
  })
  return {
    pulls,
    add(...numbers: number[]) {
      available.push(...numbers)
      pulls.wake()
    },
    fail(error: Error) {
      failure = error
    },
  }
}

t.test('returns available events immediately', async (t) => {
  const { pulls, add } = open()
  add(1, 2, 3)
  t.strictSame(await pulls.pull('a', 2, 1), [1, 2])
  t.strictSame(await pulls.pull('a', 2, 1), [3])
})

t.test('serves the oldest pull first', async (t) => {
  const { pulls, add } = open()
  const all = ['a', 'b', 'c'].map((member) => pulls.pull(member, 2, 1))
  add(1, 2, 3)
  t.strictSame(await all[0], [1, 2])
  t.strictSame(await all[1], [3])
  add(4)
  t.strictSame(await all[2], [4])
})

t.test('queues a new pull behind pending ones', async (t) => {
  const { pulls, add } = open()
  const first = pulls.pull('a', 1, 1)
  const second = pulls.pull('b', 1, 1)
  add(1, 2)
  t.strictSame(await Promise.all([first, second]), [[1], [2]])
})

t.test('removes a leaving member without affecting others', async (t) => {
  const { pulls, add } = open()
  const [a, b] = [pulls.pull('a', 1, 1), pulls.pull('b', 1, 1)]
  pulls.leave('a')
  t.strictSame(await a, [])
  add(1)
  t.strictSame(await b, [1])
})

t.test('reports a failure to the pulling member', async (t) => {
  const { pulls, add, fail } = open()
  const pending = pulls.pull('a', 1, 1)
  const rejected = t.rejects(pending, { message: 'broken' })
  fail(new Error('broken'))
  add(1)
  await rejected
  await t.rejects(pulls.pull('a', 1, 1), { message: 'broken' })
  const other = open()
  const ended = t.rejects(other.pulls.pull('a', 1, 1), { message: 'over' })
  other.pulls.fail(new Error('over'))
  await ended
})
