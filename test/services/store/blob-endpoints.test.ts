import t, { type Test } from 'tap'
import { openPlatformStore } from '../../fixtures/platform-store.ts'

async function open(t: Test) {
  const platform = await openPlatformStore(t, { maxBlobBytes: 3_000_000 })
  const { client } = platform
  return {
    ...platform,
    call: (method: string, request: unknown) =>
      client.call('store', `BlobStore.${method}`, request),
    write: (...messages: readonly object[]) =>
      client.stream('store', 'BlobStore.Write', messages).reply(),
    read: async (key: string, options = {}) => {
      const stream = client.stream<unknown, { blob: string }>('store', 'BlobStore.Read', {
        key,
        options,
      })
      const messages: { blob: string }[] = []
      for await (const message of stream) messages.push(message)
      const [first, ...rest] = messages
      return { first, bytes: Buffer.concat(rest.map(({ blob }) => Buffer.from(blob, 'base64'))) }
    },
  }
}

t.test('a blob is written and read as a stream', async (t) => {
  const { write, read } = await open(t)
  const bytes = Buffer.alloc(1_500_000, 'abcdefg')
  const options = { content_type: 'image/png', public: true }
  const toPart = (from: number, to: number) => bytes.subarray(from, to).toString('base64')
  const reply = await write(
    { key: 'a/b.png', options, blob: toPart(0, 700_000) },
    { blob: toPart(700_000, 1_400_001) },
    { blob: toPart(1_400_001, 1_500_000) },
  )
  t.strictSame(reply, { size: 1_500_000 })
  const blob = await read('a/b.png')
  t.ok(blob.bytes.equals(bytes))
  t.strictSame(blob.first, { blob: '', ...options, size: 1_500_000 })
  await t.rejects(read('a/b.png', { namespace: 'other' }), { code: 400 })
})

t.test('blobs are listed and deleted per namespace', async (t) => {
  const { write, call } = await open(t)
  for (const key of ['b', 'a', 'c']) await write({ key, blob: 'AA==' })
  await write({ key: 'd', options: { namespace: 'foo' }, blob: 'AA==' })
  t.strictSame(await call('List', {}), { keys: ['a', 'b', 'c'] })
  t.strictSame(await call('List', { options: { limit: 2 } }), { keys: ['a', 'b'], next: 'b' })
  t.strictSame(await call('List', { options: { after: 'b' } }), { keys: ['c'] })
  t.strictSame(await call('List', { options: { prefix: 'b' } }), { keys: ['b'] })
  t.strictSame(await call('List', { options: { namespace: 'foo' } }), { keys: ['d'] })
  t.strictSame(await call('Delete', { key: 'a' }), {})
  t.strictSame(await call('List', {}), { keys: ['b', 'c'] })
})

t.test('the namespace of a blob defaults to the namespace of the call', async (t) => {
  const { write, call, client } = await open(t)
  const callOptions = { namespace: 'foo' }
  await client.stream('store', 'BlobStore.Write', [{ key: 'a', blob: 'AA==' }], callOptions).reply()
  await write({ key: 'b', blob: 'AA==' })
  t.strictSame(await call('List', {}), { keys: ['b'] })
  t.strictSame(await call('List', { options: callOptions }), { keys: ['a'] })
  t.strictSame(await client.call('store', 'BlobStore.List', {}, callOptions), { keys: ['a'] })
  await client.call('store', 'BlobStore.Delete', { key: 'a' }, callOptions)
  t.strictSame(await client.call('store', 'BlobStore.List', {}, callOptions), { keys: [] })
})

t.test(
  'rejects a malformed request with 400 and a blob beyond the limit with 413, and stores nothing',
  async (t) => {
    const { write, call, read, store } = await open(t)
    await t.rejects(write(), { code: 400, message: 'request.key must not be empty' })
    await t.rejects(write({ blob: 'AA==' }), {
      code: 400,
      message: 'request.key must not be empty',
    })
    await t.rejects(write({ key: 'a\0' }), { code: 400 })
    await t.rejects(write({ key: 'a', blob: '*' }), { code: 400 })
    await t.rejects(write({ key: 'a', options: { namespace: '..' } }), { code: 400 })
    await t.rejects(write({ key: 'a', blob: 'AA==' }, { blob: '*' }), { code: 400 })
    await t.rejects(read(''), { code: 400, message: /^request\.key must be/ })
    await t.rejects(call('Delete', { key: '' }), { code: 400 })
    await t.rejects(call('List', { options: { prefix: '\0' } }), { code: 400 })
    const long = { blob: Buffer.alloc(1_100_000).toString('base64') }
    await t.rejects(write({ key: 'a', ...long }, long, long), { code: 413 })
    t.strictSame(await store.listTables(), [])
  },
)
