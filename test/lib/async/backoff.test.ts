import t from 'tap'
import { createBackOff, toBackOffMs } from '../../../lib/async/backoff.ts'

t.test('pauses grow to five seconds with jitter, and restart after a success', async (t) => {
  const backOff = createBackOff()
  for (const ms of [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]) {
    const pause = backOff.next()
    t.ok(pause > ms / 2 - 1 && pause <= ms, `${pause} is at most ${ms}, and more than half of it`)
  }
  backOff.reset()
  t.ok(backOff.next() <= 50)
})

t.test(
  'pauses stay within the range configured by the client after any number of failures',
  async (t) => {
    const range = { minMs: 100, maxMs: 10_000 }
    const backOff = createBackOff(range)
    t.ok(backOff.next() >= 50)
    for (const failures of [7, 100, 5000]) {
      const pause = toBackOffMs(failures, range)
      t.ok(pause >= 5000 && pause <= 10_000, `${pause} after ${failures} failures`)
    }
  },
)
