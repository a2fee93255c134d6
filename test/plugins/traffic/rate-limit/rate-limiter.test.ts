import t from 'tap'
import { createRateLimiter } from '../../../../plugins/traffic/rate-limit/rate-limiter.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

t.test('allows the burst at once, then the limit per window', (t) => {
  const limiter = createRateLimiter({ limit: 10, windowMs: 1000, burst: 3, maxKeys: 10 })
  t.same(
    [0, 0, 0, 0].map((nowMs) => limiter.take('a', 1, nowMs)),
    [
      { isAllowed: true, remaining: 2, resetMs: 100, retryMs: 0 },
      { isAllowed: true, remaining: 1, resetMs: 200, retryMs: 0 },
      { isAllowed: true, remaining: 0, resetMs: 300, retryMs: 0 },
      { isAllowed: false, remaining: 0, resetMs: 300, retryMs: 100 },
    ],
  )
  t.notOk(limiter.take('a', 1, 99).isAllowed)
  t.ok(limiter.take('a', 1, 100).isAllowed)
  t.notOk(limiter.take('a', 1, 150).isAllowed)
  t.equal(limiter.take('a', 1, 10_000).remaining, 2, 'after a pause the whole burst is available')
  t.end()
})

t.test(
  'counts keys separately, and forgets the least recently used key beyond the maximum',
  (t) => {
    const limiter = createRateLimiter({ limit: 1, windowMs: 1000, burst: 1, maxKeys: 2 })
    for (const key of ['a', 'b']) t.ok(limiter.take(key, 1, 0).isAllowed, key)
    for (const key of ['a', 'b']) t.notOk(limiter.take(key, 1, 0).isAllowed, key)
    t.ok(limiter.take('c', 1, 0).isAllowed)
    t.notOk(limiter.take('b', 1, 0).isAllowed)
    t.ok(limiter.take('a', 1, 0).isAllowed, 'forgotten')
    t.end()
  },
)

t.test('a rejected request costs nothing', (t) => {
  const limiter = createRateLimiter({ limit: 10, windowMs: 1000, burst: 5, maxKeys: 10 })
  t.equal(limiter.take('a', 4, 0).remaining, 1)
  t.match(limiter.take('a', 4, 0), { isAllowed: false, remaining: 1, retryMs: 300 })
  t.match(limiter.take('a', 1, 0), { isAllowed: true, remaining: 0 })
  t.end()
})

t.test('decides like a token bucket that is filled continuously', (t) => {
  for (let run = 0; run < scaleRuns(1000); run++) {
    const limit = 1 + Math.floor(Math.random() * 50)
    const windowMs = 1000 + Math.floor(Math.random() * 60_000)
    const burst = 1 + Math.floor(Math.random() * 60)
    const limiter = createRateLimiter({ limit, windowMs, burst, maxKeys: 1 })
    let tokens = burst
    let nowMs = 0
    for (let i = 0; i < 100; i++) {
      const pauseMs = Math.floor(Math.random() * 3 * (windowMs / limit))
      nowMs += pauseMs
      tokens = Math.min(burst, tokens + (pauseMs * limit) / windowMs)
      const cost = 1 + Math.floor(Math.random() * Math.min(3, burst))
      const isAllowed = tokens + 1e-3 >= cost
      const decision = limiter.take('key', cost, nowMs)
      if (decision.isAllowed !== isAllowed)
        t.fail(`${JSON.stringify({ limit, windowMs, burst, i, cost, tokens, decision })}`)
      if (isAllowed) tokens -= cost
      if (Math.abs(decision.remaining - tokens) > 1.01)
        t.fail(`remaining ${decision.remaining}, expected ${tokens}`)
    }
  }
  t.pass('no differences')
  t.end()
})
