import { getEventListeners } from 'node:events'
import t from 'tap'
import { settlesWithin, untilAborted, withTimeout } from '../../../lib/async/timeout.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'

t.test('settlesWithin: true for work that settles in time', async (t) => {
  t.equal(await settlesWithin(Promise.resolve(), 60_000), true)
  await t.rejects(settlesWithin(Promise.reject(new Error('no')), 60_000), { message: 'no' })
})

t.test('settlesWithin: false after the timeout', async (t) => {
  t.equal(await settlesWithin(new Promise(() => {}), 1), false)
})

t.test('withTimeout settles like work that settles in time', async (t) => {
  t.equal(await withTimeout(Promise.resolve(1), 1000), 1)
  await t.rejects(withTimeout(Promise.reject(new Error('no')), 1000), { message: 'no' })
})

t.test('withTimeout rejects after the timeout', async (t) => {
  // The timer of withTimeout does not keep the process alive.
  keepAlive(t)
  await t.rejects(withTimeout(new Promise(() => {}), 1), { message: 'no response within 1 ms' })
})

t.test('untilAborted settles like the work and removes its listener', async (t) => {
  const { signal } = new AbortController()
  t.equal(await untilAborted(Promise.resolve(1), signal), 1)
  await t.rejects(untilAborted(Promise.reject(new Error('no')), signal), { message: 'no' })
  t.same(getEventListeners(signal, 'abort'), [])
})

t.test('untilAborted resolves with undefined when the signal aborts', async (t) => {
  const stop = new AbortController()
  const pending = untilAborted(new Promise(() => {}), stop.signal)
  stop.abort()
  t.equal(await pending, undefined)
  t.equal(await untilAborted(new Promise(() => {}), stop.signal), undefined)
})
