import t from 'tap'
import { streamValue } from '../../../services/auth/observable-value.ts'

/** A value that can be changed. */
function open() {
  const state = { value: 0, watchers: 0, tell: () => {} }
  const followed = {
    read: () => state.value,
    watch(onUpdate: () => void) {
      state.watchers++
      state.tell = onUpdate
      return () => {
        state.watchers--
      }
    },
  }
  const change = (value: number): void => {
    state.value = value
    state.tell()
  }
  return { state, followed, change }
}

t.test('yields the value immediately and the latest value after changes', async (t) => {
  const { followed, change, state } = open()
  const stop = new AbortController()
  const updates = streamValue(stop.signal, followed)[Symbol.asyncIterator]()
  t.same(await updates.next(), { done: false, value: 0 })
  change(1)
  change(2)
  t.same(await updates.next(), { done: false, value: 2 })
  const end = updates.next()
  stop.abort()
  t.same(await end, { done: true, value: undefined })
  t.equal(state.watchers, 0)
})

t.test('stops yielding when the watcher unsubscribes', async (t) => {
  const { followed, state } = open()
  for await (const value of streamValue(new AbortController().signal, followed)) {
    t.equal(value, 0)
    break
  }
  t.equal(state.watchers, 0)
})

t.test('reports errors unless the watcher unsubscribed', async (t) => {
  const stop = new AbortController()
  const read = async (): Promise<number> => {
    throw new Error('unavailable')
  }
  const { followed, state } = open()
  const failing = { ...followed, read }
  await t.rejects(streamValue(stop.signal, failing)[Symbol.asyncIterator]().next(), {
    message: 'unavailable',
  })
  t.equal(state.watchers, 0)
  const source = {
    ...followed,
    read() {
      stop.abort()
      return read()
    },
  }
  t.match(await streamValue(stop.signal, source)[Symbol.asyncIterator]().next(), { done: true })
})
