import t from 'tap'
import { turnMs } from '../../../lib/time/tick-clock.ts'

const turn = () => new Promise(setImmediate)

t.test('one turn of the event loop has one time, the next one another', async (t) => {
  const before = performance.now()
  const first = turnMs()
  t.ok(first >= before && first <= performance.now())
  while (performance.now() < first + 2);
  t.equal(turnMs(), first)
  await Promise.resolve()
  t.equal(turnMs(), first, 'promises belong to the turn')
  await turn()
  t.ok(turnMs() >= first + 2)
})
