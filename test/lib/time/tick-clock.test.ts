import t from 'tap'
import { tickNow } from '../../../lib/time/tick-clock.ts'

const round = () => new Promise(setImmediate)

t.test('the tick clock is constant within a tick and advances in the next one', async (t) => {
  const before = performance.now()
  const first = tickNow()
  t.ok(first >= before && first <= performance.now())
  while (performance.now() < first + 2);
  t.equal(tickNow(), first)
  await Promise.resolve()
  t.equal(tickNow(), first, 'promises belong to the tick')
  await round()
  t.ok(tickNow() >= first + 2)
})
