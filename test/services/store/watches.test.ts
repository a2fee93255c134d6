import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import type { StoreListener } from '../../../core/contracts/store.ts'
import { createStore, type Store } from '../../../domain/store/store.ts'
import { createWatches, type WatchEvent } from '../../../services/store/watches.ts'

const TABLE = { database: 'mx', table: 'things' }
const TARGET = { table: TABLE, prefix: '' }
const ID = 'store.Store.Watch'

function open(t: Test, options: { maxWatchers?: number; maxWaiting?: number } = {}) {
  const listeners: StoreListener[] = []
  let stopped = 0
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  const countingStore: Store = {
    ...store,
    async watch(table, prefix, listener) {
      listeners.push(listener)
      const stop = await store.watch(table, prefix, listener)
      return () => {
        stopped++
        stop()
      }
    },
  }
  const watches = createWatches({
    store: countingStore,
    maxWatchers: 10,
    nowMs: () => 0,
    ...options,
  })
  t.teardown(watches.close)
  const begin = async (target = TARGET) => {
    let events: AsyncIterableIterator<WatchEvent> | undefined
    await new Promise<void>((resolve) => {
      events = watches.open(target, ID, resolve)
    })
    return events!
  }
  const put = (key: string, text: string) =>
    store.commit([{ table: TABLE, key, value: Buffer.from(text) }])
  return { store, watches, begin, put, listeners, stopped: () => stopped }
}

async function readNext(events: AsyncIterator<WatchEvent>): Promise<string> {
  const { value } = await events.next()
  const { action, key, record } = value as WatchEvent
  return `${action} ${key} ${record === undefined ? '-' : Buffer.from(record.value).toString()}`
}

t.test('a watcher receives the current state of changed keys with its prefix', async (t) => {
  const { store, begin, put } = open(t)
  const all = await begin()
  const prefixWatch = await begin({ table: TABLE, prefix: 'b' })
  await put('a', '1')
  t.equal(await readNext(all), 'write a 1')
  await put('b', '2')
  await store.commit([{ table: TABLE, key: 'a' }])
  t.strictSame([await readNext(all), await readNext(all)], ['write b 2', 'delete a -'])
  t.equal(await readNext(prefixWatch), 'write b 2')
})

t.test('a slow watcher receives only the last state of each key', async (t) => {
  const { begin, put, store } = open(t)
  const events = await begin()
  for (let i = 0; i < 100; i++) await put('a', String(i))
  await put('b', 'x')
  await put('gone', 'x')
  await store.commit([{ table: TABLE, key: 'gone' }])
  t.strictSame(
    [await readNext(events), await readNext(events), await readNext(events)],
    ['write a 99', 'write b x', 'delete gone -'],
  )
})

t.test('a watcher with too many pending keys is ended with 503', async (t) => {
  const { begin, put, watches } = open(t, { maxWaiting: 2 })
  const events = await begin()
  for (const key of ['a', 'b', 'c']) await put(key, '1')
  await t.rejects(events.next(), { code: 503, id: ID, message: /too slow/ })
  t.equal(watches.count(), 0)
})

t.test('a watcher is ended with 503 when changes may have been missed', async (t) => {
  const { begin, listeners, watches, stopped } = open(t)
  const events = await begin()
  const pending = events.next()
  listeners[0]!.onMissedEvents()
  await t.rejects(pending, { code: 503, message: /may have been missed/ })
  t.equal(watches.count(), 0)
  t.equal(stopped(), 1)
})

t.test('a watcher that leaves during a read receives no further messages', async (t) => {
  const { begin, watches, stopped } = open(t)
  const events = await begin()
  const pending = events.next()
  await events.return!()
  t.equal((await pending).done, true)
  t.equal(watches.count(), 0)
  t.equal(stopped(), 1)
})

t.test('an error of the store ends the watch', async (t) => {
  const store = {
    ...createStore(createMemoryStore()),
    watch: () => Promise.reject(new Error('unavailable')),
  }
  t.teardown(store.close)
  const watches = createWatches({ store, maxWatchers: 1, nowMs: () => 0 })
  const events = watches.open(TARGET, ID, () => {})
  await t.rejects(events.next(), { message: 'unavailable' })
  t.equal(watches.count(), 0)
})

t.test('rejects a watcher beyond the limit with 429, and after close with 503', async (t) => {
  const { begin, watches } = open(t, { maxWatchers: 1 })
  const events = await begin()
  t.throws(() => watches.open(TARGET, ID, () => {}), { code: 429, id: ID })
  watches.close()
  const error = { code: 503, id: ID, message: 'the store is stopping' }
  await t.rejects(events.next(), error)
  t.throws(() => watches.open(TARGET, ID, () => {}), error)
})
