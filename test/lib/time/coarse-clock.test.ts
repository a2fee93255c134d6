import t from 'tap'
import { clock } from '../../../lib/time/coarse-clock.ts'

t.test('the coarse clock follows performance.now() and never decreases', async (t) => {
  let last = clock.nowMs
  for (let ticks = 0; ticks < 3; ) {
    await new Promise((resolve) => setImmediate(resolve))
    if (clock.nowMs === last) continue
    t.ok(clock.nowMs > last)
    t.ok(clock.nowMs <= performance.now())
    last = clock.nowMs
    ticks++
  }
})

t.test('the coarse clock does not keep the process alive', async (t) => {
  t.notOk(process.getActiveResourcesInfo().includes('Timeout'))
})
