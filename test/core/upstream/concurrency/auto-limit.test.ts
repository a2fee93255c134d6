import t from 'tap'
import { AutoLimit } from '../../../../core/upstream/concurrency/auto-limit.ts'

/**
 * A backend that serves `capacity` concurrent requests in `serviceMs` each, and queues the rest; the limit is always
 * reached.
 *
 * @returns limits after each millisecond.
 */
function simulate(auto: AutoLimit, capacity: number, serviceMs: number, ms: number, fromMs = 0) {
  const running: number[] = []
  const limits: number[] = []
  let credit = 0
  for (let nowMs = fromMs + 1; nowMs <= fromMs + ms; nowMs++) {
    while (running.length < Math.floor(auto.limit)) running.push(nowMs)
    credit = Math.min(1, credit) + Math.min(capacity, running.length) / serviceMs
    for (; credit >= 1 && running[0]! + serviceMs <= nowMs; credit--)
      auto.add(running.shift()!, nowMs, running.length)
    limits.push(auto.limit)
  }
  return limits
}

t.test('the limit settles near the capacity of the backend', async (t) => {
  const auto = new AutoLimit(() => 0)
  const limits = simulate(auto, 40, 20, 20_000)
  t.ok(auto.minMs >= 20 && auto.minMs <= 24, `minimum of ${auto.minMs} ms`)
  const last = limits.slice(-1000)
  t.ok(Math.min(...last) >= 36, `lowest limit is ${Math.min(...last)}`)
  t.ok(Math.max(...last) <= 100, `highest limit is ${Math.max(...last)}`)
})

t.test('the minimum is measured again, and the limit returns', async (t) => {
  const auto = new AutoLimit(() => 0)
  simulate(auto, 40, 20, 20_000)
  const limits = simulate(auto, 40, 50, 75_000, 20_000)
  t.equal(Math.min(...limits), 3)
  t.ok(auto.minMs >= 50 && auto.minMs <= 60, `minimum of ${auto.minMs} ms`)
  t.ok(limits.at(-1)! >= 36, `limit is ${limits.at(-1)}`)
})

t.test('the limit does not grow while few requests are in progress', async (t) => {
  const auto = new AutoLimit(() => 0)
  for (let nowMs = 10; nowMs < 10_000; nowMs += 10) auto.add(nowMs - 5, nowMs, 1)
  t.equal(auto.limit, 20)
})
