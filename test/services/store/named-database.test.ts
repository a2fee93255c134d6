import t from 'tap'
import { openPlatformStore } from '../../fixtures/platform-store.ts'

const expectedError = (field: string, name: string) => ({
  code: 400,
  message: `${field} must be a database with records, as listed by store/databases, got "${name}"`,
})

t.test('rejects reading from an unknown database with 400 and its name', async (t) => {
  const { call, stream, client } = await openPlatformStore(t)
  const options = { database: 'shop' }
  await call('Write', { record: { key: 'a', value: 'AA==' }, options })
  const invalid = { database: 'shpo' }
  const error = expectedError('request.options.database', 'shpo')
  await t.rejects(call('Read', { key: 'a', options: invalid }), error)
  await t.rejects(call('Read', { options: { ...invalid, prefix: 'a' } }), error)
  await t.rejects(stream('List', { options: invalid }).next(), error)
  await t.rejects(call('Tables', invalid), expectedError('request.database', 'shpo'))
  const inNamespace = expectedError('request.options.namespace', 'shpo')
  const blobs = { namespace: 'shpo' }
  await t.rejects(client.call('store', 'BlobStore.List', { options: blobs }), inNamespace)
  const read = client.stream('store', 'BlobStore.Read', { key: 'a', options: blobs })
  await t.rejects(read.next(), inNamespace)
  t.strictSame(await call('Databases'), { databases: ['shop'] }, 'reading creates no database')
})

t.test('a missing key or table in an existing database is not an error', async (t) => {
  const { call, stream } = await openPlatformStore(t)
  const options = { database: 'shop' }
  await call('Write', { record: { key: 'a', value: 'AA==' }, options })
  await t.rejects(call('Read', { key: 'b', options }), { code: 404, message: 'not found: b' })
  t.strictSame(await call('Read', { options: { ...options, prefix: 'b' } }), { records: [] })
  t.strictSame((await stream('List', { options: { ...options, table: 'b' } }).next()).value, {
    keys: [],
  })
})

t.test("the database of the call's namespace may be empty", async (t) => {
  const { client, call } = await openPlatformStore(t)
  t.strictSame(await call('Tables'), { tables: [] })
  t.strictSame(await call('Read', { options: { prefix: 'a', database: 'mx' } }), { records: [] })
  for (const options of [{}, { database: 'staging' }]) {
    const request = { options: { prefix: 'a', ...options } }
    const result = client.call('store', 'Store.Read', request, { namespace: 'staging' })
    t.strictSame(await result, { records: [] })
  }
})

t.test('Write and Delete accept a database without records', async (t) => {
  const { call } = await openPlatformStore(t)
  t.strictSame(await call('Delete', { key: 'a', options: { database: 'new' } }), {})
  await call('Write', { record: { key: 'a', value: 'AA==' }, options: { database: 'new' } })
  t.match(await call('Read', { key: 'a', options: { database: 'new' } }), { records: [{}] })
})
