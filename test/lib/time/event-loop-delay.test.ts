import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { EventLoopDelay } from '../../../lib/time/event-loop-delay.ts'

t.test('a blocked event loop is measured as soon as it runs again', async (t) => {
  const delay = new EventLoopDelay()
  t.teardown(() => delay.close())
  const endMs = performance.now() + 300
  while (performance.now() < endMs);
  await wait(1)
  t.ok(delay.ms >= 250, `${delay.ms} ms`)
})
