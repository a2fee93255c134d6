import t from 'tap'
import { settlesWithin } from '../../../lib/async/settles-within.ts'

t.test('work that is done in time is', async (t) => {
  t.equal(await settlesWithin(Promise.resolve(), 60_000), true)
})

t.test('work that takes longer is not, and is not waited for', async (t) => {
  t.equal(await settlesWithin(new Promise(() => {}), 1), false)
})

t.test('what fails in time is thrown', async (t) => {
  await t.rejects(settlesWithin(Promise.reject(new Error('no')), 60_000), { message: 'no' })
})
