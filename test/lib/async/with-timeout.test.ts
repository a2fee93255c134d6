import t from 'tap'
import { withTimeout } from '../../../lib/async/with-timeout.ts'

t.test('an answer in time is the answer', async (t) => {
  t.equal(await withTimeout(Promise.resolve(1), 1000), 1)
  await t.rejects(withTimeout(Promise.reject(new Error('no')), 1000), { message: 'no' })
})

t.test('one that takes longer is a failure', async (t) => {
  // The timer alone keeps no process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  await t.rejects(withTimeout(new Promise(() => {}), 1), { message: 'no answer within 1 ms' })
})
