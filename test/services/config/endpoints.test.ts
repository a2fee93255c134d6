import t from 'tap'
import { dumpStore, openPlatformConfig } from '../../fixtures/platform-config.ts'

t.test('sets, reads and deletes a value in the shapes of the reference', async (t) => {
  const { call } = await openPlatformConfig(t)
  t.strictSame(await call('Set', { path: 'a.b', value: { data: '5' } }), { version: 1 })
  t.strictSame(await call('Get', { path: 'a.b' }), {
    value: { data: '5', format: 'json' },
    exists: true,
    version: 1,
  })
  t.strictSame(await call('Get', { path: '' }), {
    value: { data: '{"a":{"b":5}}', format: 'json' },
    exists: true,
    version: 1,
  })
  t.strictSame(await call('Delete', { path: 'a.b' }), { version: 2 })
  t.strictSame(
    await call('Delete', { path: 'a.b' }),
    { version: 2 },
    'deleting a missing path succeeds',
  )
  t.strictSame(await call('Get', { path: 'a' }), {
    value: { data: '{}', format: 'json' },
    exists: true,
    version: 2,
  })
})

t.test('returns 404 for an unknown namespace and null for an unknown path', async (t) => {
  const { call, set } = await openPlatformConfig(t)
  await t.rejects(call('Get', { path: 'a' }), {
    id: 'config.Config.Get',
    code: 404,
    message: 'not found: mx has no configuration',
  })
  t.strictSame(await call('Delete', { path: 'a' }), { version: 0 })
  t.strictSame(await call('List'), { entries: [] })
  t.strictSame(await call('History'), { versions: [] })
  await t.rejects(call('Get'), { code: 404 })
  await set('a', null)
  t.strictSame(await call('Get', { path: 'b' }), {
    value: { data: 'null', format: 'json' },
    exists: false,
    version: 1,
  })
  t.match(await call('Get', { path: 'a' }), { value: { data: 'null' }, exists: true })
})

t.test('deletes the complete tree, which still counts as written', async (t) => {
  const { call, set, get } = await openPlatformConfig(t)
  await set('a.b', 1)
  await call('Delete')
  t.strictSame(await get(''), {})
  t.strictSame(await call('Get', { path: 'a' }), {
    value: { data: 'null', format: 'json' },
    exists: false,
    version: 2,
  })
})

t.test('selects the namespace by request, call or default mx', async (t) => {
  const { call, client, get } = await openPlatformConfig(t)
  const data = (text: string) => ({ path: 'a', value: { data: text } })
  await call('Set', data('1'))
  await call('Set', { ...data('2'), namespace: 'foo' })
  await call('Set', data('3'), { namespace: 'bar' })
  await call('Set', { ...data('4'), namespace: 'baz' }, { namespace: 'bar' })
  t.equal(await get('a'), 1)
  for (const [namespace, text] of Object.entries({ mx: '1', foo: '2', bar: '3', baz: '4' })) {
    t.match(await call('Get', { namespace, path: 'a' }), { value: { data: text }, version: 1 })
    t.match(await call('Get', { path: 'a' }, { namespace }), { value: { data: text } })
  }
  await t.rejects(call('Get', { namespace: '../x' }), {
    code: 400,
    message: /^request\.namespace must be letters, digits/,
  })
  await t.rejects(client.call('config', 'Config.Get', {}, { namespace: 'a b' }), {
    id: 'config.Config.Get',
    code: 400,
    message: /^Mx-Namespace must be letters, digits.* got "a b"$/,
  })
})

t.test('returns 400 with the name of the malformed field and stores nothing', async (t) => {
  const { call, store } = await openPlatformConfig(t, { storeOptions: { maxValueBytes: 1000 } })
  const expectRejected = async (method: string, request: object, message: RegExp) => {
    await t.rejects(call(method, request), { id: /^config/, code: 400, message })
  }
  const value = { data: '1' }
  for (const path of [
    'a..b',
    '.',
    'a.',
    'a.__proto__',
    'constructor.a',
    'prototype',
    'a\nb',
    Array(33).fill('a').join('.'),
    'x'.repeat(1025),
  ])
    for (const method of ['Get', 'Set', 'Delete', 'List'])
      await expectRejected(
        method,
        { path, value },
        /^request\.path must be at most 32 names joined by dots/,
      )
  await expectRejected('Get', { path: 5 }, /^request\.path must be a string/)
  await expectRejected(
    'List',
    { options: { after: 'a..b' } },
    /^request\.options\.after must be at most 32/,
  )
  await expectRejected('Get', { options: { version: -1 } }, /^request\.options\.version must be/)
  await expectRejected('Set', { path: 'a' }, /^request\.value is missing/)
  await expectRejected('Set', { path: 'a', value: {} }, /^request\.value\.data is missing/)
  await expectRejected(
    'Set',
    { path: 'a', value: { data: 5 } },
    /^request\.value\.data must be a string, got number$/,
  )
  await expectRejected(
    'Set',
    { path: 'a', value: { data: '1', format: 'yaml' } },
    /^request\.value\.format/,
  )
  await expectRejected(
    'Set',
    { path: 'a', value: { data: '{"b"' } },
    /^request\.value\.data must be JSON: expected/,
  )
  await expectRejected(
    'Set',
    { path: 'a', value: { data: '{"__proto__":1}' } },
    /^request\.value\.data must not contain/,
  )
  await expectRejected(
    'Set',
    { path: '', value },
    /^request\.value\.data must be an object if the path is empty/,
  )
  await expectRejected(
    'Set',
    { path: 'a', value: { data: '"[secret]"' } },
    /^request\.value\.data must not be "\[secret\]"/,
  )
  await expectRejected(
    'Set',
    { path: 'a', value: { data: `"${'x'.repeat(999)}"` } },
    /^request\.value\.data must be at most 1000 bytes, got 1001/,
  )
  await expectRejected('Rollback', {}, /^request\.version is missing/)
  await expectRejected('Rollback', { version: 0 }, /^request\.version must be/)
  t.strictSame(await store.listTables(), [])
})

t.test('returns 413 for a configuration that is too long and leaves it unchanged', async (t) => {
  const { call, set, get } = await openPlatformConfig(t, { storeOptions: { maxValueBytes: 3000 } })
  await set('a', 'x'.repeat(2000))
  await t.rejects(set('b', 'x'.repeat(2000)), {
    id: 'config.Config.Set',
    code: 413,
    message: 'the configuration of mx exceeds the limit of 3000 bytes, got 4023',
  })
  t.match(await call('List'), { entries: [{ path: 'a' }] })
  t.equal(await set('b', 1), 2)
  t.strictSame(Object.keys((await get('')) as object), ['a', 'b'])
})

t.test('masks secrets unless they are requested', async (t) => {
  const { set, get, call, store, lines } = await openPlatformConfig(t)
  await set('db', { host: 'localhost' })
  await set('db', { password: 'hunter2', port: 54321, on: true, list: ['hunter2'] }, true)
  const masked = {
    host: 'localhost',
    password: '[secret]',
    port: '[secret]',
    on: '[secret]',
    list: '[secret]',
  }
  const open = { host: 'localhost', password: 'hunter2', port: 54321, on: true, list: ['hunter2'] }
  t.strictSame(await get('db'), masked)
  t.equal(await get('db.port'), '[secret]')
  t.strictSame(await get('db', { secret: true }), open)
  t.strictSame(await get('', { secret: true }), { db: open })
  t.equal(await get('db.port', { secret: true }), 54321)
  t.strictSame(await get('db', { version: 2 }), masked)
  t.strictSame(await get('db', { version: 2, secret: true }), open)
  t.match(await call('List', { path: 'db' }), {
    entries: [
      { path: 'db.host', secret: false },
      { path: 'db.list', secret: true },
      { path: 'db.on', secret: true },
      { path: 'db.password', secret: true },
      { path: 'db.port', secret: true },
    ],
  })
  const contents = JSON.stringify([await call('History'), await call('List'), lines])
  for (const text of [await dumpStore(store), contents]) t.notMatch(text, /hunter2|54321/)
})

t.test('lists paths in pages', async (t) => {
  const { call, set } = await openPlatformConfig(t)
  const names = Array.from({ length: 2500 }, (_, i) => `k${String(i).padStart(4, '0')}`)
  await set('all', Object.fromEntries(names.map((name) => [name, 0])))
  interface Page {
    readonly entries: readonly { readonly path: string }[]
    readonly next?: string
  }
  const first = await call<Page>('List', { path: 'all' })
  t.equal(first.entries.length, 1000)
  t.equal(first.next, 'all.k0999')
  const last = await call<Page>('List', { options: { after: 'all.k1999' } })
  t.equal(last.entries.length, 500)
  t.equal(last.next, undefined)
  const firstPage = await call<Page>('List', { options: { limit: 2 } })
  t.strictSame(firstPage, {
    entries: [
      { path: 'all.k0000', secret: false },
      { path: 'all.k0001', secret: false },
    ],
    next: 'all.k0001',
  })
})

t.test('lists versions with author and time, newest first', async (t) => {
  const { call, set, clock } = await openPlatformConfig(t)
  await set('a', 1)
  clock.seconds += 5
  await set('b.c', 'x', true)
  await call('Delete', { path: 'a' })
  await call('Rollback', { version: 1 })
  const toInfo = (
    version: number,
    timestamp: number,
    action: string,
    path: string,
    secret = false,
  ) => ({
    version,
    timestamp,
    account: '',
    action,
    path,
    secret,
  })
  t.strictSame(await call('History'), {
    versions: [
      toInfo(4, 1005, 'rollback', ''),
      toInfo(3, 1005, 'delete', 'a'),
      toInfo(2, 1005, 'set', 'b.c', true),
      toInfo(1, 1000, 'set', 'a'),
    ],
  })
})

t.test(
  'reads a stored version and rolls back to it; returns 404 for any other version',
  async (t) => {
    const { call, set, get } = await openPlatformConfig(t, { maxVersions: 3 })
    for (let i = 1; i <= 5; i++) await set('a', i)
    t.equal(await get('a', { version: 3 }), 3)
    t.match(await call('Get', { path: 'a', options: { version: 3 } }), { version: 3 })
    t.match(await call('Get', { path: 'b', options: { version: 3 } }), {
      version: 3,
      exists: false,
    })
    for (const version of [2, 6])
      await t.rejects(call('Rollback', { version }), {
        id: 'config.Config.Rollback',
        code: 404,
        message: `not found: version ${version} of mx; stored versions: 3 to 5`,
      })
    await t.rejects(get('a', { version: 2 }), { id: 'config.Config.Get', code: 404 })
    await t.rejects(call('Rollback', { namespace: 'foo', version: 1 }), {
      message: /stored versions: none$/,
    })
    t.strictSame(await call('Rollback', { version: 3 }), { version: 6 })
    t.equal(await get('a'), 3)
    t.strictSame(
      await call('Rollback', { version: 6 }),
      { version: 6 },
      'rolling back to the current value creates no version',
    )
  },
)

t.test('supports all operations except secrets without a key', async (t) => {
  const { set, get, store } = await openPlatformConfig(t, { key: '' })
  await set('a', 1)
  t.equal(await get('a', { secret: true }), 1)
  await t.rejects(set('b', 'hunter2', true), {
    id: 'config.Config.Set',
    code: 501,
    message: 'secrets cannot be stored: config_secret_key is not set',
  })
  t.notMatch(await dumpStore(store), /hunter2/)
})
