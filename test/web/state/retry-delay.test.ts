import t from 'tap'
import { createRetryDelay } from '../../../web/state/retry-delay.ts'

t.test('what fails again waits longer, on another connection not at all', async (t) => {
  const delay = createRetryDelay(() => 0)
  const waits = Array.from({ length: 10 }, () => delay(true))
  t.ok(waits[0]! <= 50, `${waits[0]} ms`)
  t.ok(waits.at(-1)! >= 2500, `${waits.at(-1)} ms`)
  t.equal(delay(false), 0)
  t.ok(delay(true) <= 50, 'and begins anew there')
})

t.test(
  'after a while without trouble the wait is short again, on one connection, too',
  async (t) => {
    let nowMs = 0
    const delay = createRetryDelay(() => nowMs)
    // A stream ends with each token it began with.
    for (let i = 0; i < 20; i++) {
      t.ok(delay(true) <= 50)
      nowMs += 900_000
    }
  },
)
