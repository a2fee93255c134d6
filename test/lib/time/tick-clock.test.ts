import t from 'tap'
import { tickNow } from '../../../lib/time/tick-clock.ts'

const turn = () => new Promise(setImmediate)

t.test('one turn of the event loop has one time, the next one another', async (t) => {
  const before = performance.now()
  const first = tickNow()
  t.ok(first >= before && first <= performance.now())
  while (performance.now() < first + 2);
  t.equal(tickNow(), first)
  await Promise.resolve()
  t.equal(tickNow(), first, 'promises belong to the turn')
  await turn()
  t.ok(tickNow() >= first + 2)
})
