import { getEventListeners } from 'node:events'
import t from 'tap'
import { unwatchAbort, watchAbort } from '../../../lib/async/abort-watch.ts'

const create = () => {
  const reasons: unknown[] = []
  return { reasons, onAbort: (reason: unknown) => void reasons.push(reason) }
}

t.test('an abort calls every watcher once, with the reason', async (t) => {
  const controller = new AbortController()
  const all = Array.from({ length: 50 }, create)
  for (const one of all) watchAbort(controller.signal, one)
  t.equal(getEventListeners(controller.signal, 'abort').length, 1)
  unwatchAbort(controller.signal, all[7]!)
  const reason = new Error('aborted')
  controller.abort(reason)
  for (const [i, { reasons }] of all.entries())
    t.strictSame(reasons, i === 7 ? [] : [reason], String(i))
  unwatchAbort(controller.signal, all[0]!)
})

t.test('removing the last watcher removes the listener from the signal', async (t) => {
  const { signal } = new AbortController()
  const [one, other] = [create(), create()]
  watchAbort(signal, one)
  watchAbort(signal, other)
  unwatchAbort(signal, one)
  unwatchAbort(signal, one)
  t.equal(getEventListeners(signal, 'abort').length, 1)
  unwatchAbort(signal, other)
  t.equal(getEventListeners(signal, 'abort').length, 0)
  watchAbort(signal, one)
  t.equal(getEventListeners(signal, 'abort').length, 1)
})

t.test('removing another watcher during the abort does not fail', async (t) => {
  const controller = new AbortController()
  const second = create()
  const first = { onAbort: () => unwatchAbort(controller.signal, second) }
  watchAbort(controller.signal, first)
  watchAbort(controller.signal, second)
  controller.abort()
  t.equal(second.reasons.length, 1)
})
