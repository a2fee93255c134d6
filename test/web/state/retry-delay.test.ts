import t from 'tap'
import { createRetryDelay } from '../../../web/state/retry-delay.ts'

t.test('backs off on repeated failures, but not on a new connection', async (t) => {
  const delay = createRetryDelay(() => 0)
  const waits = Array.from({ length: 10 }, () => delay(true))
  t.ok(waits[0]! <= 50, `${waits[0]} ms`)
  t.ok(waits.at(-1)! >= 2500, `${waits.at(-1)} ms`)
  t.equal(delay(false), 0)
  t.ok(delay(true) <= 50, 'the backoff starts over')
})

t.test('resets the backoff after a period without failures', async (t) => {
  let nowMs = 0
  const delay = createRetryDelay(() => nowMs)
  // Streams end when their token expires.
  for (let i = 0; i < 20; i++) {
    t.ok(delay(true) <= 50)
    nowMs += 900_000
  }
})
