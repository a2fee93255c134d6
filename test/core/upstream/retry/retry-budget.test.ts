import t from 'tap'
import { RetryBudget } from '../../../../core/upstream/retry/retry-budget.ts'
import { DEFAULT_RETRY } from '../../../../core/upstream/retry/retry-options.ts'

/** A budget; `take` returns how many of `count` retries it allows at a time. */
function open() {
  const budget = new RetryBudget()
  const take = (nowMs: number, count: number, options = {}) =>
    Array.from({ length: count }, () =>
      budget.take({ ...DEFAULT_RETRY, ...options }, nowMs),
    ).filter(Boolean).length
  return { budget, take }
}

t.test(
  'retries are at most 20 percent of the requests in the last 10 s, even in bursts',
  async (t) => {
    const { budget, take } = open()
    budget.requests += 1000
    t.equal(take(5000, 300), 200)
    t.equal(take(9999, 1), 0)
    budget.requests += 100
    t.equal(take(9999, 100), 20)
  },
)

t.test('earlier requests and retries expire over the next 10 s', async (t) => {
  const { budget, take } = open()
  take(0, 1)
  budget.release()
  budget.requests += 1000
  t.equal(take(10_000, 1), 1)
  t.equal(take(15_000, 200), 98, 'half of the 1000 requests and of the first retry')
  t.equal(take(19_999, 200), 0)
})

t.test('requests over a long time are averaged', async (t) => {
  const { budget, take } = open()
  budget.requests += 100_000
  t.equal(take(1_000_000, 1000), 200, '1000 requests in 10 s')
})

t.test('with few requests three retries may be in progress', async (t) => {
  const { budget, take } = open()
  budget.requests += 5
  t.equal(take(1, 10), 3)
  budget.release()
  t.equal(take(2, 10), 1)
  const busy = open()
  busy.budget.requests += 100
  t.equal(busy.take(1, 10, { budgetPercent: 1 }), 1, 'not with more requests')
  t.equal(open().take(1, 1, { minConcurrency: 0 }), 0)
})
