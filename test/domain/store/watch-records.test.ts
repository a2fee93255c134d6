import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import type { StoreListener } from '../../../core/contracts/store.ts'
import { createStore, type Store } from '../../../domain/store/store.ts'
import { watchRecords } from '../../../domain/store/watch-records.ts'
import { waitUntil } from '../../contracts/registry.ts'

const TABLE = { database: 'mx', table: 'things' }

const write = (store: Store, key: string) =>
  store.commit([{ table: TABLE, key, value: Buffer.from(key) }])

/** Watches a store whose reads can fail, and that can report gaps. */
async function open(t: Test) {
  const inner = createStore(createMemoryStore())
  t.teardown(inner.close)
  await write(inner, 'a/1')
  const state = { isUnavailable: false }
  let listener: StoreListener | undefined
  const check = (): void => {
    if (state.isUnavailable) throw new Error('unavailable')
  }
  const store: Store = {
    ...inner,
    async read(...args) {
      check()
      return inner.read(...args)
    },
    async list(...args) {
      check()
      return inner.list(...args)
    },
    watch(table, prefix, input) {
      listener = input
      return inner.watch(table, prefix, input)
    },
  }
  const events: [string[], boolean][] = []
  const errors: unknown[] = []
  const options = {
    ...{ store, table: TABLE, prefix: 'a/' },
    onRecords: (records: ReadonlyMap<string, unknown>, isComplete: boolean) =>
      void events.push([
        [...records].map(([key, record]) => `${record === undefined ? '-' : ''}${key}`),
        isComplete,
      ]),
    onError: (error: unknown) => void errors.push(error),
  }
  return { inner, state, events, errors, options, gap: () => listener?.onMissedEvents() }
}

t.test('reports all records, then each change', async (t) => {
  const { inner, events, options } = await open(t)
  const { close } = await watchRecords(options)
  t.same(events, [[['a/1'], true]])
  await write(inner, 'b/1')
  await write(inner, 'a/2')
  await waitUntil(() => events.length === 2)
  await inner.commit([{ table: TABLE, key: 'a/1' }])
  await waitUntil(() => events.length === 3)
  t.same(events.slice(1), [
    [['a/2'], false],
    [['-a/1'], false],
  ])
  close()
  await write(inner, 'a/3')
  t.equal(events.length, 3)
})

t.test('has reported all earlier writes after a refresh', async (t) => {
  const { inner, events, options } = await open(t)
  const { refresh, close } = await watchRecords(options)
  t.teardown(close)
  await write(inner, 'a/2')
  await refresh()
  t.same(events.at(-1), [['a/1', 'a/2'], true])
})

t.test('reads all changes that may have been missed', async (t) => {
  const { events, options, gap } = await open(t)
  const { close } = await watchRecords(options)
  t.teardown(close)
  gap()
  await waitUntil(() => events.length === 2)
  t.same(events[1], [['a/1'], true])
})

t.test('retries an unavailable store and reports the outage once', async (t) => {
  const { inner, state, events, errors, options } = await open(t)
  const { close } = await watchRecords(options)
  t.teardown(close)
  state.isUnavailable = true
  await write(inner, 'a/2')
  await waitUntil(() => errors.length === 1)
  await write(inner, 'a/3')
  state.isUnavailable = false
  await waitUntil(() => events.length === 2)
  t.same(events[1], [['a/1', 'a/2', 'a/3'], true])
  t.match(errors, [{ message: 'unavailable' }])
})

t.test('fails if the store is unavailable at the start', async (t) => {
  const { state, options, errors } = await open(t)
  state.isUnavailable = true
  await t.rejects(watchRecords(options), { message: 'unavailable' })
  t.same(errors, [])
})
