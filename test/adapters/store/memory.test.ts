import t from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { createStore } from '../../../domain/store/store.ts'
import { testStore } from '../../contracts/store.ts'
import { testStoreModel } from '../../contracts/store-model.ts'
import { testStoreQuotas, testStoreReserve } from '../../contracts/store-quotas.ts'

testStore(t, () => ({ adapter: createMemoryStore() }))
testStoreQuotas(t, () => (quotas) => createMemoryStore({ quotas }), false)
testStoreReserve(t, () => (maxBytes) => createMemoryStore({ maxBytes }))
testStoreModel(t, () => createMemoryStore(), 1000)

t.test('rejects a group beyond the memory limit without partial writes', async (t) => {
  const store = createStore(createMemoryStore({ maxBytes: 100_000 }))
  t.teardown(store.close)
  const table = { database: 'mx', table: 'a' }
  const write = (key: string, bytes: number) =>
    store.commit([{ table, key, value: Buffer.alloc(bytes) }])
  const full = { code: 507, id: 'store', message: 'the store is full: nothing was written' }
  await write('a', 50_000)
  await write('b', 40_000)
  await t.rejects(write('c', 20_000), full)
  await t.rejects(write('a', 70_000), full)
  t.equal(await store.read(table, 'c'), undefined)
  t.equal((await store.read(table, 'a'))!.value.length, 50_000)
  await write('a', 40_000)
  await t.rejects(write('c', 20_000), full)
  await store.commit([{ table, key: 'b' }])
  await write('c', 20_000)
  t.strictSame((await store.list(table, { keysOnly: true })).records.length, 2)
})

t.test('counts overhead and frees purged records', async (t) => {
  const adapter = createMemoryStore({ maxBytes: 100_000 })
  const table = { database: 'mx', table: 'a' }
  const value = Buffer.alloc(0)
  const write = { table, value, metadata: { name: 'x'.repeat(100) }, ifVersion: undefined }
  let count = 0
  const add = async () => {
    const [outcome] = await adapter.commit([[{ ...write, key: String(count++), expiresMs: 1 }]], 0)
    return outcome
  }
  let outcome = await add()
  while (!(outcome instanceof Error)) outcome = await add()
  t.match(outcome, { code: 507 })
  t.ok(count > 100 && count < 300, `${count}`)
  t.equal((await adapter.purge!(2, 1000)).length, count - 1)
  for (let i = 1; i < count; i++)
    await adapter.commit([[{ ...write, key: String(i), expiresMs: 0 }]], 0)
})
