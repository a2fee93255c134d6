import t from 'tap'
import { inTime } from '../../../lib/async/with-timeout.ts'

t.test('an answer in time is the answer', async (t) => {
  t.equal(await inTime(Promise.resolve(1), 1000), 1)
  await t.rejects(inTime(Promise.reject(new Error('no')), 1000), { message: 'no' })
})

t.test('one that takes longer is a failure', async (t) => {
  // The timer alone keeps no process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  await t.rejects(inTime(new Promise(() => {}), 1), { message: 'no answer within 1 ms' })
})
