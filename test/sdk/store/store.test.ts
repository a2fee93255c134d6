import t, { type Test } from 'tap'
import { Client } from '../../../sdk/client/client.ts'
import { createContext } from '../../../sdk/context.ts'
import { createStore, type StoreOptions } from '../../../sdk/store/store.ts'
import type { StoreEvent } from '../../../sdk/store/store-record.ts'
import { openPlatformStore } from '../../fixtures/platform-store.ts'
import { createService, openRegistry } from '../../fixtures/sdk-services.ts'

async function open(t: Test, options: StoreOptions = { table: 'things' }) {
  const platform = await openPlatformStore(t)
  return { ...platform, table: createStore(platform.client, options) }
}

t.test('a written record is read with version, expiry and metadata', async (t) => {
  const { table } = await open(t)
  const version = await table.write(
    'a',
    { name: 'Ann' },
    { expirySeconds: 60, metadata: { b: 'c' } },
  )
  const [record, ...others] = await table.read('a')
  t.strictSame(others, [])
  t.match(record, {
    key: 'a',
    version,
    expirySeconds: 60,
    metadata: { b: { type: 'string', value: 'c' } },
  })
  t.strictSame(record!.json(), { name: 'Ann' })
  t.equal(await table.delete('a'), undefined)
  await t.rejects(table.read('a'), { name: 'ServiceError', code: 404 })
})

t.test('reads select by prefix, suffix and range across pages', async (t) => {
  const { table } = await open(t)
  const keys = Array.from({ length: 2100 }, (_, i) => `k${String(i).padStart(4, '0')}`)
  await Promise.all([...keys, 'other'].map((key) => table.write(key, key)))
  const read = async (options: object) => (await table.read('', options)).map(({ key }) => key)
  t.strictSame(await read({ prefix: 'k' }), keys)
  t.strictSame(await read({ prefix: 'k', order: 'desc' }), keys.toReversed())
  t.strictSame(await read({ prefix: 'k', offset: 5, limit: 1500 }), keys.slice(5, 1505))
  t.strictSame(await read({ prefix: 'k', limit: 1000 }), keys.slice(0, 1000))
  t.strictSame(
    await read({ prefix: 'k0', suffix: '99' }),
    keys.filter((key) => /^k0.*99$/.test(key)),
  )
  t.strictSame(await read({ from: 'k0002', to: 'k0004' }), ['k0002', 'k0003'])
  const byFlag = await table.read('oth', { prefix: true })
  t.strictSame(
    byFlag.map(({ key }) => key),
    ['other'],
  )
  t.strictSame(await read({ prefix: 'nothing' }), [])
  t.strictSame(await table.list(), [...keys, 'other'])
  t.strictSame(await table.list({ prefix: 'k', limit: 2, order: 'desc' }), ['k2099', 'k2098'])
})

t.test('only malformed writes of a tick are rejected', async (t) => {
  const { table } = await open(t)
  const [one, invalid, long, two, repeated] = await Promise.allSettled([
    table.write('a', '1'),
    table.write('', 'x'),
    table.write('c', Buffer.alloc(1024 * 1024 + 1)),
    table.write('b', '2'),
    table.write('a', '3'),
  ])
  t.match(long, {
    status: 'rejected',
    reason: { code: 400, message: /request\.record\.value must/ },
  })
  t.match(invalid, {
    status: 'rejected',
    reason: { code: 400, message: /request\.record\.key must/ },
  })
  const [a, b] = await table.read('', { from: 'a' })
  t.match(
    [one, two, repeated],
    [{ status: 'fulfilled' }, { value: b!.version }, { value: a!.version }],
  )
  t.equal(a!.text(), '3', 'the last write of a key is stored')
})

t.test('operations of one tick take effect in order', async (t) => {
  const { table } = await open(t)
  await Promise.all([
    table.write('a', '1'),
    table.delete('a'),
    table.write('b', '1'),
    table.write('b', '2', { expirySeconds: 60 }),
    table.write('c', '1', { expirySeconds: 60 }),
    table.write('c', '2'),
    table.delete('d'),
    table.write('d', '1'),
  ])
  const result = await table.read('', { from: 'a' })
  t.same(
    result.map((record) => [record.key, record.text(), record.expirySeconds]),
    [
      ['b', '2', 60],
      ['c', '2', 0],
      ['d', '1', 0],
    ],
  )
})

t.test('writes made before the client is closed in the same tick complete', async (t) => {
  const { store, address } = await openPlatformStore(t)
  const client = new Client({ address, inProcess: false })
  const written = createStore(client, { table: 'things' }).write('a', '1')
  client.close()
  t.ok((await written) > 0)
  const table = { database: 'mx', table: 'things' }
  t.match(await store.read(table, 'a'), { key: 'a' })
  await t.rejects(createStore(client).write('b', '1'), { message: /closed/ })
})

t.test('a failed version condition returns 409', async (t) => {
  const { table } = await open(t)
  const version = await table.write('a', '1', { version: 0 })
  await t.rejects(table.write('a', '2', { version: 0 }), { code: 409 })
  await t.rejects(table.delete('a', { version: version + 1 }), { code: 409 })
  await table.delete('a', { version })
})

t.test('a service uses a table of its name in the database of the namespace', async (t) => {
  const registry = openRegistry(t)
  const { store, client } = await openPlatformStore(t, { registry })
  const greeter = createService(t, { registry })
  await greeter.start()
  t.teardown(() => greeter.client.close())
  await createStore(greeter).write('a', '1')
  await createStore(greeter).write('a', '1', {
    context: createContext({ metadata: { 'mx-namespace': 'foo' } }),
  })
  await createStore(greeter).write('a', '1', { namespace: 'bar' })
  await createStore(greeter, { database: 'own', table: 'mine' }).write('a', '1', {
    namespace: 'foo',
  })
  await createStore(client).write('a', '1')
  t.strictSame(await store.listTables(), [
    { database: 'bar', table: 'greeter' },
    { database: 'foo', table: 'greeter' },
    { database: 'mx', table: 'greeter' },
    { database: 'mx', table: 'mx' },
    { database: 'own', table: 'mine' },
  ])
})

t.test('watch yields changes until the loop ends', async (t) => {
  const { table, store } = await open(t)
  const received: StoreEvent[] = []
  const watching = (async () => {
    for await (const event of table.watch({ prefix: 'a' })) {
      received.push(event)
      if (event.action === 'delete') return
    }
  })()
  while (received.length === 0) await table.write('a', 'x')
  await table.write('b', 'x')
  await table.delete('a')
  await watching
  t.match(received[0], { action: 'write', key: 'a' })
  t.equal(received[0]!.record!.text(), 'x')
  t.strictSame(received.at(-1), { action: 'delete', key: 'a' })
  t.notOk(received.some(({ key }) => key === 'b'))
  t.strictSame(await store.listTables(), [{ database: 'mx', table: 'things' }])
})

t.test('stopping the store ends a watch with 503', async (t) => {
  const { table, close } = await open(t)
  const watch = table.watch()
  const first = watch.next()
  let isReceived = false
  void first.then(() => {
    isReceived = true
  })
  while (!isReceived) await table.write('a', 'x')
  const loop = (async () => {
    for await (const { key } of watch) t.equal(key, 'a')
  })()
  const failed = t.rejects(loop, { code: 503, message: 'the store is stopping' })
  await close()
  await failed
})

t.test('closing the client ends a watch', async (t) => {
  const { table, client } = await open(t)
  const watch = table.watch()
  const first = watch.next()
  let isReceived = false
  void first.then(() => {
    isReceived = true
  })
  while (!isReceived) await table.write('a', 'x')
  const loop = (async () => {
    for await (const { key } of watch) t.equal(key, 'a')
  })()
  client.close()
  await t.resolves(loop)
})

t.test('call options of the store and of the method apply', async (t) => {
  const { client } = await open(t)
  const signal = AbortSignal.abort(new Error('enough'))
  await t.rejects(createStore(client, { signal }).read('a'), { message: 'enough' })
  await t.rejects(createStore(client).read('a', { signal }), { message: 'enough' })
  await t.rejects(createStore(client).list({ signal }), { message: 'enough' })
})

t.test('unknown options are rejected', async (t) => {
  const { client, table } = await open(t)
  const invalid = (method: string) => ({
    name: 'TypeError',
    message: new RegExp(`^${method}: unknown option`),
  })
  t.throws(() => createStore(client, { tabel: 'a' } as object), invalid('createStore'))
  await t.rejects(table.read('a', { prefx: 'a' } as object), invalid('store.read'))
  await t.rejects(table.write('a', '', { ttl: 1 } as object), invalid('store.write'))
  await t.rejects(table.delete('a', { prefix: 'a' } as object), invalid('store.delete'))
  await t.rejects(table.list({ version: 1 } as object), invalid('store.list'))
  t.throws(() => table.watch({ from: 'a' } as object), invalid('store.watch'))
})
