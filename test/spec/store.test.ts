// Specification: "Store record", "Library-level operations": the store, "Limits": the tables per service.
import t, { type Test } from 'tap'
import { createLmdbStore } from '../../adapters/store/lmdb.ts'
import { createMemoryStore } from '../../adapters/store/memory.ts'
import type { StoreAdapter } from '../../core/contracts/store.ts'
import { createStore } from '../../sdk/store/store.ts'
import { openApi } from '../fixtures/api.ts'
import { openPlatformStore, toBase64 } from '../fixtures/platform-store.ts'
import { createService, openRegistry } from '../fixtures/sdk-services.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

/** The store service, a service that uses it, and a gateway as in server mode, without a namespace. */
async function open(t: Test, adapter: StoreAdapter) {
  const registry = openRegistry(t)
  const { address, clock, store } = await openPlatformStore(t, { adapter, registry })
  const service = createService(t, { name: 'greeter', registry })
  t.teardown(() => service.client.close())
  const { port } = await openApi(t, {
    MX_ACCESS_LOG: 'off',
    MX_NAMESPACE: ' ',
    MX_BACKEND: `store=mx://${address}`,
  })
  const origin = `http://127.0.0.1:${port}/store`
  const response = async (reply: Response) => {
    const text = await reply.text()
    return { status: reply.status, body: JSON.parse(text) as Record<string, unknown> }
  }
  return {
    origin,
    clock,
    tables: () => store.listTables(),
    records: createStore(service),
    others: createStore(service, { table: 'other' }),
    get: async (path: string) => response(await fetch(`${origin}/${path}`)),
    post: async (path: string, body: object) =>
      response(
        await fetch(`${origin}/${path}`, {
          method: 'POST',
          headers: JSON_TYPE,
          body: JSON.stringify(body),
        }),
      ),
  }
}

const ADAPTERS: Readonly<Record<string, (t: Test) => StoreAdapter>> = {
  memory: () => createMemoryStore(),
  lmdb: (t) => createLmdbStore({ folder: makeTempFolder(t, 'store') }),
}

for (const [name, create] of Object.entries(ADAPTERS)) {
  t.test(`${name}: key (string) and value (bytes; the examples use JSON)`, async (t) => {
    const { records, get } = await open(t, create(t))
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
    await records.write('bytes', bytes)
    t.strictSame([...(await records.read('bytes'))[0]!.value], [...bytes])
    await records.write('user/1', { name: 'Ann' })
    t.strictSame((await records.read('user/1'))[0]!.json(), { name: 'Ann' })
    const { status, body } = await get('read?key=user/1&options.table=greeter')
    t.equal(status, 200)
    t.match(body, { records: [{ key: 'user/1', value: toBase64('{"name":"Ann"}'), expiry: 0 }] })
  })

  t.test(`${name}: One table per service, so keys of a service share one namespace.`, async (t) => {
    const { records, others, tables, get } = await open(t, create(t))
    await records.write('a', 'mine')
    await others.write('a', 'other')
    t.equal((await records.read('a'))[0]!.text(), 'mine')
    t.strictSame(await tables(), [
      { database: 'mx', table: 'greeter' },
      { database: 'mx', table: 'other' },
    ])
    t.strictSame((await get('tables')).body, { tables: ['greeter', 'other'] })
    t.strictSame((await get('databases')).body, { databases: ['mx'] })
  })

  t.test(`${name}: Keys are ordered lexicographically.`, async (t) => {
    const { records, origin } = await open(t, create(t))
    const ordered = ['1', '10', '2', 'A', 'B', 'a', 'a/b', 'aa', 'é', '\u{1f600}']
    for (const key of ordered.toReversed()) await records.write(key, '')
    t.strictSame(await records.list(), ordered)
    const all = await records.read('', { prefix: '' })
    t.strictSame(
      all.map(({ key }) => key),
      ordered,
    )
    const reply = await fetch(`${origin}/list?options.table=greeter&options.order=desc`)
    t.equal(reply.headers.get('content-type'), 'application/x-ndjson')
    t.strictSame(JSON.parse(await reply.text()), { keys: ordered.toReversed() })
  })

  t.test(`${name}: Read with an exact key returns the matching records`, async (t) => {
    const { records, get } = await open(t, create(t))
    await records.write('user', '1')
    await records.write('user/1', '2')
    t.strictSame(
      (await records.read('user')).map(({ key }) => key),
      ['user'],
    )
    t.strictSame(await get('read?key=unknown&options.table=greeter'), {
      status: 404,
      body: {
        Id: 'store.Store.Read',
        Code: 404,
        Detail: 'not found: unknown',
        Status: 'Not Found',
      },
    })
  })

  t.test(
    `${name}: a read with an empty key and a prefix option returns all records whose key starts with the prefix`,
    async (t) => {
      const { records, get, post } = await open(t, create(t))
      for (const key of ['user/2', 'user/1', 'users', 'other']) await records.write(key, key)
      t.strictSame(
        (await records.read('', { prefix: 'user/' })).map((record) => record.text()),
        ['user/1', 'user/2'],
      )
      const expected = { status: 200, body: { records: [{ key: 'user/1' }, { key: 'user/2' }] } }
      t.match(await get('read?options.prefix=user/&options.table=greeter'), expected)
      t.match(
        await post('read', { key: 'user/', options: { prefix: true, table: 'greeter' } }),
        expected,
      )
      t.strictSame(await records.read('', { prefix: 'nothing' }), [])
    },
  )
}

t.test('an expired record returns 404', async (t) => {
  const { post, get, clock } = await open(t, createMemoryStore())
  const { status, body } = await post('write', { record: { key: 'a', value: 'AA==', expiry: 5 } })
  t.match([status, body], [200, { version: Number }])
  t.equal((await get('read?key=a')).status, 200)
  clock.seconds += 5
  t.equal((await get('read?key=a')).status, 404)
  t.strictSame((await get('read?options.prefix=a')).body, { records: [] })
})

t.test('rejects a malformed request with 400 and the path of the field', async (t) => {
  const { post, get, tables } = await open(t, createMemoryStore())
  t.match(await post('write', { record: { key: 'k'.repeat(1025) } }), {
    status: 400,
    body: { Code: 400, Detail: /^request\.record\.key must be 1 to 1024 bytes/ },
  })
  t.match(await get('delete?key='), { status: 400, body: { Detail: /^request\.key must be/ } })
  t.strictSame(await tables(), [])
})

t.test('rejects a write whose version condition is false with 409', async (t) => {
  const { post } = await open(t, createMemoryStore())
  const put = (version: number) => post('write', { record: { key: 'a' }, options: { version } })
  const { version } = (await put(0)).body as { version: number }
  t.match(await put(0), { status: 409, body: { Status: 'Conflict' } })
  t.equal((await put(version)).status, 200)
})

t.test('watch streams writes with their value, and deletions', async (t) => {
  const { origin, records } = await open(t, createMemoryStore())
  const watching = fetch(`${origin}/watch?options.table=greeter&options.prefix=user/`)
  let hasEnded = false
  // The start of the watch is not observable, so the changes are repeated.
  const step = (async () => {
    while (!hasEnded) {
      await records.write('user/1', 'Ann')
      await records.delete('user/1')
    }
  })()
  let output = ''
  for await (const chunk of (await watching).body!) {
    output += Buffer.from(chunk).toString()
    if (output.includes('"write"') && output.includes('"delete"') && output.endsWith('\n')) break
  }
  hasEnded = true
  await step
  const events = output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as object)
  t.match(
    events.find((event) => 'record' in event),
    { action: 'write', key: 'user/1', record: { key: 'user/1', value: toBase64('Ann') } },
  )
  t.strictSame(
    events.find((event) => !('record' in event)),
    { action: 'delete', key: 'user/1' },
  )
})
