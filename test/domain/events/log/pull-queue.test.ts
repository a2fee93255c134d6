import t from 'tap'
import type { EventDelivery } from '../../../../core/contracts/events.ts'
import { createPulls } from '../../../../domain/events/log/pull-queue.ts'

/** A queue with numbers in place of deliveries. */
function open() {
  const there: number[] = []
  let failure: Error | undefined
  const pulls = createPulls<string>((_, limit) => {
    if (failure !== undefined) throw failure
    return there.splice(0, limit) as unknown as EventDelivery[]
  })
  return {
    pulls,
    give(...numbers: number[]) {
      there.push(...numbers)
      pulls.wake()
    },
    fail(error: Error) {
      failure = error
    },
  }
}

t.test('returns available events at once', async (t) => {
  const { pulls, give } = open()
  give(1, 2, 3)
  t.strictSame(await pulls.pull('a', 2, 1), [1, 2])
  t.strictSame(await pulls.pull('a', 2, 1), [3])
})

t.test('serves the oldest pull first', async (t) => {
  const { pulls, give } = open()
  const all = ['a', 'b', 'c'].map((member) => pulls.pull(member, 2, 1))
  give(1, 2, 3)
  t.strictSame(await all[0], [1, 2])
  t.strictSame(await all[1], [3])
  give(4)
  t.strictSame(await all[2], [4])
})

t.test('queues a new pull behind pending ones', async (t) => {
  const { pulls, give } = open()
  const first = pulls.pull('a', 1, 1)
  const second = pulls.pull('b', 1, 1)
  give(1, 2)
  t.strictSame(await Promise.all([first, second]), [[1], [2]])
})

t.test('removes a leaving member without affecting others', async (t) => {
  const { pulls, give } = open()
  const [a, b] = [pulls.pull('a', 1, 1), pulls.pull('b', 1, 1)]
  pulls.leave('a')
  t.strictSame(await a, [])
  give(1)
  t.strictSame(await b, [1])
})

t.test('reports a failure to the pulling member', async (t) => {
  const { pulls, give, fail } = open()
  const waiting = pulls.pull('a', 1, 1)
  const rejected = t.rejects(waiting, { message: 'broken' })
  fail(new Error('broken'))
  give(1)
  await rejected
  await t.rejects(pulls.pull('a', 1, 1), { message: 'broken' })
  const other = open()
  const ended = t.rejects(other.pulls.pull('a', 1, 1), { message: 'over' })
  other.pulls.fail(new Error('over'))
  await ended
})
