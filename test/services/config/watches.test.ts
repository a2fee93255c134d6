import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import type { StoreListener } from '../../../core/contracts/store.ts'
import { createStore, type Store } from '../../../domain/store/store.ts'
import { formatHead, HEAD, toTable, toTreeKey } from '../../../services/config/records.ts'
import { createSnapshots, type Snapshot } from '../../../services/config/snapshots.ts'
import { formatTreeJson } from '../../../services/config/tree/tree-text.ts'
import { createWatches } from '../../../services/config/watches.ts'

const ID = 'config.Config.Watch'

function open(t: Test, maxWatchers = 10) {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  let stopped = 0
  const countingStore: Store = {
    ...store,
    async watch(table, prefix, listener) {
      const stop = await store.watch(table, prefix, listener)
      return () => {
        stopped++
        stop()
      }
    },
  }
  let version = 0
  /** Writes a tree like another process, without shared nodes. */
  const put = async (tree: string, namespace = 'mx'): Promise<void> => {
    const entry = {
      version: ++version,
      timestamp: 0,
      account: '',
      action: 'set',
      path: '',
      secret: false,
    } as const
    const table = toTable(namespace)
    await store.commit([
      { table, key: HEAD, value: formatHead({ versions: [entry] }) },
      { table, key: toTreeKey({}), value: Buffer.from(tree) },
    ])
  }
  const watches = createWatches({
    store: countingStore,
    snapshots: createSnapshots(store),
    maxWatchers,
  })
  t.teardown(watches.close)
  const begin = async (path = '', namespace = 'mx') => {
    let events: AsyncIterableIterator<Snapshot> | undefined
    await new Promise<void>((resolve) => {
      events = watches.open({ namespace, path }, ID, resolve)
    })
    return events!
  }
  return { store, watches, put, begin, stopped: () => stopped }
}

async function readNext(events: AsyncIterator<Snapshot>): Promise<string> {
  const { value } = await events.next()
  return formatTreeJson((value as Snapshot).tree)
}

t.test('streams the current value, then each change', async (t) => {
  const { put, begin } = open(t)
  const events = await begin('a')
  t.equal(await readNext(events), '{}', 'a namespace without values')
  await put('{"a":"1"}')
  t.equal(await readNext(events), '{"a":1}')
  t.equal(await readNext(await begin('a')), '{"a":1}')
})

t.test('does not stream changes at other paths or unchanged values', async (t) => {
  const { put, begin } = open(t)
  await put('{"a":{"x":"1"},"b":"1"}')
  const events = await begin('a')
  await readNext(events)
  await put('{"a":{"x":"1"},"b":"2"}')
  await put('{"a":{"x":"1"},"b":"3"}', 'foo')
  const next = readNext(events)
  await put('{"a":{"x":"1"},"b":"4"}')
  await put('{"a":{"x":"2"},"b":"4"}')
  t.match(await next, /"x":2/)
  const firstUpdate = readNext(events)
  await put('{"b":"4"}')
  t.equal(await firstUpdate, '{"b":4}')
})

t.test('streams a changed secret although its mask is the same', async (t) => {
  const { put, begin } = open(t)
  await put('{"a":["one"]}')
  const events = await begin('a')
  t.equal(await readNext(events), '{"a":"[secret]"}')
  await put('{"a":["two"]}')
  t.equal(await readNext(events), '{"a":"[secret]"}')
})

t.test('coalesces changes for a slow watcher', async (t) => {
  const { put, begin } = open(t)
  const events = await begin()
  await readNext(events)
  for (let i = 0; i < 100; i++) await put(`{"a":"${i}"}`)
  t.equal(await readNext(events), '{"a":99}')
})

t.test('streams the current value after changes may have been missed', async (t) => {
  const { store, put } = open(t)
  let listener: StoreListener | undefined
  const storeWithoutWatch: Store = {
    ...store,
    async watch(_table, _prefix, input) {
      listener = input
      return () => {}
    },
  }
  const watches = createWatches({
    store: storeWithoutWatch,
    snapshots: createSnapshots(store),
    maxWatchers: 1,
  })
  t.teardown(watches.close)
  const events = watches.open({ namespace: 'mx', path: '' }, ID, () => {})
  t.equal(await readNext(events), '{}')
  const next = readNext(events)
  await put('{"a":"1"}')
  listener!.onMissedEvents()
  t.equal(await next, '{"a":1}')
})

t.test('ends the stream with the cause if a read fails', async (t) => {
  const { store, watches, begin } = open(t)
  const events = await begin()
  await readNext(events)
  await store.commit([{ table: toTable('mx'), key: HEAD, value: Buffer.from('x') }])
  await t.rejects(events.next(), { code: 500, message: /^record now.head/ })
  t.equal(watches.count(), 0)
})

t.test('reports a store that cannot be watched', async (t) => {
  const { store } = open(t)
  const unwatchable: Store = { ...store, watch: () => Promise.reject(new Error('unavailable')) }
  const watches = createWatches({
    store: unwatchable,
    snapshots: createSnapshots(store),
    maxWatchers: 1,
  })
  await t.rejects(watches.open({ namespace: 'mx', path: '' }, ID, () => {}).next(), {
    message: 'unavailable',
  })
  t.equal(watches.count(), 0)
})

t.test('ends all streams on close and rejects new ones', async (t) => {
  const { watches, begin, stopped } = open(t)
  const [a, b] = [await begin(), await begin('x')]
  await readNext(a)
  const pending = a.next()
  watches.close()
  const error = { id: ID, code: 503, message: 'the config service is stopping' }
  await t.rejects(pending, error)
  await t.rejects(b.next(), error)
  t.equal(stopped(), 2)
  t.throws(() => watches.open({ namespace: 'mx', path: '' }, ID, () => {}), { code: 503 })
})
