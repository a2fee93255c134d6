import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import type { RecordMessage } from '../../../services/store/records.ts'
import { openPlatformStore, type PlatformStore, toBase64 } from '../../fixtures/platform-store.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

interface Page {
  readonly records: readonly RecordMessage[]
  readonly next?: string
}

async function write({ call }: PlatformStore, ...keys: string[]): Promise<void> {
  await Promise.all(
    keys.map((key) => call('Write', { record: { key, value: toBase64(`of ${key}`) } })),
  )
}

async function read({ call }: PlatformStore, key: string, options: object) {
  const { records, next } = await call<Page>('Read', { key, options })
  return { keys: records.map(({ key }) => key), next }
}

t.test('a record is written, read, listed and deleted', async (t) => {
  const { call, stream } = await openPlatformStore(t)
  const metadata = { size: { type: 'int64', value: '5' }, 'a:b': { type: '', value: 'x:y' } }
  const { version } = await call<{ version: number }>('Write', {
    record: { key: 'a', value: 'AAECAw==', expiry: 60, metadata },
  })
  t.ok(version > 0)
  t.strictSame(await call('Read', { key: 'a' }), {
    records: [{ key: 'a', value: 'AAECAw==', expiry: 60, metadata, version }],
  })
  t.strictSame((await stream<object>('List').next()).value, { keys: ['a'] })
  t.strictSame(await call('Databases'), { databases: ['mx'] })
  t.strictSame(await call('Tables'), { tables: ['mx'] })
  t.strictSame(await call('Delete', { key: 'a' }), {})
  t.strictSame(await call('Delete', { key: 'a' }), {}, 'deleting a missing key succeeds')
  await t.rejects(call('Read', { key: 'a' }), {
    id: 'store.Store.Read',
    code: 404,
    message: 'not found: a',
  })
})

t.test('a record as returned by Read can be written again', async (t) => {
  const { call } = await openPlatformStore(t)
  await call('Write', { record: { key: 'a', value: 'AA==', metadata: { b: { value: 'c' } } } })
  const before = await call<Page>('Read', { key: 'a' })
  await call('Write', { record: before.records[0] })
  const { version: _, ...rest } = before.records[0]!
  t.match(await call<Page>('Read', { key: 'a' }), { records: [rest] })
  t.strictSame(rest.metadata, { b: { type: 'string', value: 'c' } })
})

t.test('prefix and suffix are flags for the key, or strings', async (t) => {
  const platform = await openPlatformStore(t)
  await write(platform, 'a/1', 'a/2', 'b/1', 'b/2')
  for (const [key, options, keys] of [
    ['a/', { prefix: true }, ['a/1', 'a/2']],
    ['', { prefix: 'a/' }, ['a/1', 'a/2']],
    ['', { prefix: true }, ['a/1', 'a/2', 'b/1', 'b/2']],
    ['/1', { suffix: true }, ['a/1', 'b/1']],
    ['', { suffix: '/1' }, ['a/1', 'b/1']],
    ['a/', { prefix: true, suffix: '2' }, ['a/2']],
    ['', { prefix: 'b', suffix: '2' }, ['b/2']],
    ['nothing', { prefix: true }, []],
    ['', { suffix: 'nothing' }, []],
  ] as const)
    t.strictSame((await read(platform, key, options)).keys, keys, JSON.stringify([key, options]))
})

t.test(
  'order, range, offset and limit select records: offset applies before limit, and limit 0 means no limit',
  async (t) => {
    const platform = await openPlatformStore(t)
    await write(platform, 'c', 'a', 'e', 'b', 'd')
    for (const [options, keys, next] of [
      [{ prefix: '', order: 'asc' }, 'abcde'],
      [{ prefix: '', order: 'desc' }, 'edcba'],
      [{ prefix: '', limit: 0 }, 'abcde'],
      [{ prefix: '', limit: 2 }, 'ab', 'b'],
      [{ prefix: '', offset: 1, limit: 2 }, 'bc', 'c'],
      [{ prefix: '', offset: 4, limit: 2 }, 'e'],
      [{ prefix: '', offset: 9 }, ''],
      [{ prefix: '', order: 'desc', offset: 1, limit: 2 }, 'dc', 'c'],
      [{ from: 'b', to: 'd' }, 'bc'],
      [{ from: 'b' }, 'bcde'],
      [{ to: 'd', order: 'desc' }, 'cba'],
      [{ after: 'c' }, 'de'],
      [{ after: 'c', order: 'desc' }, 'ba'],
      [{ from: 'd', to: 'b' }, ''],
    ] as [object, string, string?][]) {
      const page = await read(platform, '', options)
      t.strictSame([page.keys.join(''), page.next], [keys, next], JSON.stringify(options))
    }
  },
)

t.test('tables and databases are separate', async (t) => {
  const platform = await openPlatformStore(t)
  const { call } = platform
  for (const options of [
    { database: 'foo', table: 'greeter' },
    { table: 'users' },
    { database: 'foo' },
  ])
    await call('Write', { record: { key: 'a', value: toBase64(JSON.stringify(options)) }, options })
  await t.rejects(call('Read', { key: 'a' }), { code: 404 })
  await t.rejects(call('Read', { key: 'a', options: { table: 'greeter' } }), { code: 404 })
  const { records } = await call<Page>('Read', {
    key: 'a',
    options: { database: 'foo', table: 'greeter' },
  })
  t.equal(records[0]!.value, toBase64('{"database":"foo","table":"greeter"}'))
  t.strictSame(await call('Databases'), { databases: ['foo', 'mx'] })
  t.strictSame(await call('Tables'), { tables: ['users'] })
  t.strictSame(await call('Tables', { database: 'foo' }), { tables: ['greeter', 'mx'] })
})

t.test('databases and tables are listed in pages', async (t) => {
  const { call } = await openPlatformStore(t)
  for (const name of ['a', 'b', 'c'])
    for (const options of [{ database: name }, { table: name }])
      await call('Write', { record: { key: 'k' }, options })
  t.strictSame(await call('Databases'), { databases: ['a', 'b', 'c', 'mx'] })
  t.strictSame(await call('Databases', { limit: 2 }), { databases: ['a', 'b'], next: 'b' })
  t.strictSame(await call('Databases', { limit: 2, after: 'b' }), { databases: ['c', 'mx'] })
  t.strictSame(await call('Tables', { limit: 2 }), { tables: ['a', 'b'], next: 'b' })
  t.strictSame(await call('Tables', { limit: 2, after: 'b' }), { tables: ['c'] })
  t.strictSame(await call('Tables', { limit: 3 }), { tables: ['a', 'b', 'c'] })
  await t.rejects(call('Tables', { after: '../x' }), { code: 400, message: /^request\.after must/ })
  await t.rejects(call('Databases', { limit: -1 }), { code: 400, message: /^request\.limit/ })
})

t.test(
  'the database comes from the request, the namespace of the call or mx, in this order',
  async (t) => {
    const { client, call } = await openPlatformStore(t)
    const callInNamespace = (namespace: string, method: string, request: object) =>
      client.call('store', `Store.${method}`, request, { namespace }) as Promise<Page>
    await call('Write', { record: { key: 'a', value: toBase64('mx') } })
    for (const [namespace, options] of [
      ['foo', {}],
      ['foo', { database: 'bar' }],
    ] as const)
      await callInNamespace(namespace, 'Write', {
        record: { key: 'a', value: toBase64(JSON.stringify(options)) },
        options,
      })
    const find = async (namespace: string, options = {}) =>
      (await callInNamespace(namespace, 'Read', { key: 'a', options })).records[0]?.value
    t.equal(await find('foo'), toBase64('{}'))
    t.equal(await find('bar'), toBase64('{"database":"bar"}'))
    t.equal(await find('bar', { database: 'mx' }), toBase64('mx'))
    t.match(await call('Read', { key: 'a' }), { records: [{ value: toBase64('mx') }] })
    t.strictSame(await callInNamespace('foo', 'Tables', {}), { tables: ['mx'] })
    t.strictSame(await callInNamespace('baz', 'Tables', {}), { tables: [] })
    await callInNamespace('foo', 'Delete', { key: 'a' })
    await t.rejects(callInNamespace('foo', 'Read', { key: 'a' }), { code: 404 })
    t.match(await call('Read', { key: 'a' }), { records: [{ value: toBase64('mx') }] })
    await t.rejects(callInNamespace('a b', 'Read', { key: 'a' }), {
      id: 'store.Store.Read',
      code: 400,
      message: /^Mx-Namespace must be letters/,
    })
  },
)

t.test('Read returns the remaining seconds of a record, and 404 once it has expired', async (t) => {
  const platform = await openPlatformStore(t)
  const { call, clock } = platform
  await call('Write', { record: { key: 'a', expiry: 10 } })
  clock.seconds += 9.5
  t.match(await call('Read', { key: 'a' }), { records: [{ expiry: 1 }] })
  clock.seconds += 0.5
  await t.rejects(call('Read', { key: 'a' }), { code: 404 })
  t.strictSame((await read(platform, '', { prefix: true })).keys, [])
})

t.test('rejects compare and set with an outdated version with 409', async (t) => {
  const { call } = await openPlatformStore(t)
  const put = (version: number) =>
    call<{ version: number }>('Write', { record: { key: 'a' }, options: { version } })
  const first = await put(0)
  await t.rejects(put(0), { code: 409, message: /^key "a" must not exist, but has version/ })
  const second = await put(first.version)
  t.ok(second.version > first.version)
  await t.rejects(put(first.version), { code: 409 })
  const remove = (version: number) => call('Delete', { key: 'a', options: { version } })
  await t.rejects(remove(first.version), { code: 409 })
  await remove(second.version)
  await t.rejects(put(second.version), { code: 409, message: /but does not exist$/ })
})

t.test('a batch of records is written atomically or rejected', async (t) => {
  const { call, store } = await openPlatformStore(t)
  const put = (records: readonly object[], options: object = {}) =>
    call<{ version: number; versions: number[] }>('Write', { records, ...options })
  const { version, versions } = await put([
    { key: 'a', value: toBase64('of a'), expiry: 60 },
    { key: 'b', metadata: { c: { value: 'd' } } },
  ])
  t.equal(version, versions[1])
  const { records } = await call<Page>('Read', { options: { from: 'a' } })
  t.match(records, [
    { key: 'a', value: toBase64('of a'), expiry: 60, version: versions[0] },
    { key: 'b', value: '', expiry: 0, metadata: { c: { value: 'd' } }, version: versions[1] },
  ])
  const long = Buffer.alloc(store.maxValueBytes + 1).toString('base64')
  for (const [input, more, message] of [
    [[{ key: 'x' }, { key: 'x' }], {}, /^request\.records must not repeat a key/],
    [[{ key: 'x' }, { key: '' }], {}, /^request\.records\[1\]\.key must be 1 to 1024 bytes/],
    [
      [{ key: 'x' }, { key: 'y', value: long }],
      {},
      /^request\.records\[1\]\.value must be at most/,
    ],
    [[], {}, /^request\.records must/],
    [Array.from({ length: 1001 }, (_, i) => ({ key: `x${i}` })), {}, /^request\.records must/],
    [
      [{ key: 'x' }],
      { record: { key: 'y' } },
      /^exactly one of request\.record and request\.records is required/,
    ],
    [
      [{ key: 'x' }],
      { options: { version: 0 } },
      /^request\.options\.version is not allowed with request\.records/,
    ],
  ] as const)
    await t.rejects(put(input, more), { code: 400, message })
  const page = await call<Page>('Read', { options: { prefix: '', from: 'c' } })
  t.same(page.records, [], 'no record of a rejected batch was written')
})

t.test('20 concurrent compare-and-set increments lose no increment', async (t) => {
  const { call } = await openPlatformStore(t)
  const increase = async (): Promise<void> => {
    for (;;) {
      const page = await call<Page>('Read', { options: { from: 'n', to: 'o' } })
      const [record] = page.records
      const count = record === undefined ? 0 : Number(Buffer.from(String(record.value), 'base64'))
      const value = toBase64(String(count + 1))
      const options = { version: record?.version ?? 0 }
      try {
        await call('Write', { record: { key: 'n', value }, options })
        return
      } catch (error) {
        if ((error as { code?: number }).code !== 409) throw error
      }
    }
  }
  await Promise.all(Array.from({ length: 20 }, increase))
  const { records } = await call<Page>('Read', { key: 'n' })
  t.equal(Buffer.from(String(records[0]!.value), 'base64').toString(), '20')
})

t.test('List streams messages of 1000 keys, and one empty message without keys', async (t) => {
  const platform = await openPlatformStore(t)
  const { stream } = platform
  const list = async (options: object) => {
    const sizes: number[] = []
    for await (const { keys } of stream<{ keys: string[] }>('List', { options }))
      sizes.push(keys.length)
    return sizes
  }
  t.strictSame(await list({}), [0])
  const keys = Array.from({ length: 2500 }, (_, i) => `k${String(i).padStart(4, '0')}`)
  await write(platform, ...keys)
  t.strictSame(await list({}), [1000, 1000, 500])
  t.strictSame(await list({ limit: 1500, offset: 10 }), [1000, 500])
  t.strictSame(await list({ limit: 1000 }), [1000])
  t.strictSame(await list({ prefix: 'k24', order: 'desc' }), [100])
  t.strictSame(await list({ suffix: '99' }), [25])
  t.strictSame(await list({ from: 'k0010', to: 'k0020' }), [10])
})

t.test('a cancelled call and a call past its deadline stop reading the store', async (t) => {
  const memory = createMemoryStore()
  let scans = 0
  // Never ends.
  const scan: typeof memory.scan = () => {
    const key = String(++scans).padStart(9, '0')
    const record = { key, value: Buffer.alloc(0), metadata: {}, expiresMs: 0, version: 1 }
    return { records: [record], more: true }
  }
  const { client } = await openPlatformStore(t, { adapter: { ...memory, scan } })
  const request = { options: { suffix: 'none' } }
  const controller = new AbortController()
  const calls = [
    () => client.call('store', 'Store.Read', request, { timeoutMs: 20 }),
    () => client.call('store', 'Store.Read', request, { signal: controller.signal }),
    () => client.stream('store', 'Store.List', request, { timeoutMs: 20 }).next(),
  ]
  for (const call of calls) {
    scans = 0
    let hasEnded = false
    const failed = t.rejects(call()).finally(() => {
      hasEnded = true
    })
    // On a busy machine the deadline may pass before the first read.
    await waitUntil(() => scans > 0 || hasEnded)
    if (call === calls[1]) controller.abort()
    await failed
    let before = 0
    while (before !== scans) {
      before = scans
      await delay(20)
    }
  }
})
