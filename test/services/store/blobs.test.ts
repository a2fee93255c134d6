import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { createStore } from '../../../domain/store/store.ts'
import { createBlobs, toBlobTables } from '../../../services/store/blobs.ts'

const DETAILS = { contentType: 'image/png', isPublic: true }
const { heads, parts, loose } = toBlobTables('mx')

function open(t: Test, maxBytes = 10_000_000, maxValueBytes = 1024 * 1024) {
  const clock = { ms: 1_000_000_000 }
  const store = createStore(createMemoryStore(), { nowMs: () => clock.ms, maxValueBytes })
  t.teardown(store.close)
  const blobs = createBlobs({ store, maxBytes, nowMs: () => clock.ms })
  const count = async (table: typeof parts) => (await store.list(table)).records.length
  return {
    clock,
    store,
    blobs,
    write: (key: string, ...chunks: readonly Uint8Array[]) =>
      blobs.write('mx', key, DETAILS, toStream(chunks)),
    read: async (key: string) => {
      const { parts, ...details } = await blobs.read('mx', key)
      const chunks: Uint8Array[] = []
      for await (const part of parts) chunks.push(part)
      return { ...details, bytes: Buffer.concat(chunks), count: chunks.length }
    },
    counts: async () => ({
      heads: await count(heads),
      parts: await count(parts),
      loose: await count(loose),
    }),
  }
}

async function* toStream(chunks: readonly Uint8Array[], error?: Error): AsyncGenerator<Uint8Array> {
  yield* chunks
  if (error !== undefined) throw error
}

function makeBytes(length: number, seed = 7): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, i) => (i * seed) >> 3))
}

t.test('a blob reads back unchanged for any sizes of the chunks written', async (t) => {
  const { write, read, counts } = open(t)
  const bytes = makeBytes(1_000_000)
  for (const size of [1000, 262_144, 300_000, 1_000_000]) {
    const chunks: Buffer[] = []
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
    t.equal(await write('a', ...chunks), bytes.length)
    const blob = await read('a')
    t.ok(blob.bytes.equals(bytes), String(size))
    t.match(blob, { contentType: 'image/png', isPublic: true, count: 4 })
  }
  t.strictSame(
    await counts(),
    { heads: 1, parts: 4, loose: 0 },
    'parts of replaced blobs are deleted',
  )
  t.equal(await write('empty'), 0)
  t.equal((await read('empty')).bytes.length, 0)
})

t.test('a part is at most as long as a record value', async (t) => {
  const { write, read } = open(t, 10_000_000, 1000)
  const bytes = makeBytes(2500)
  await write('a', bytes)
  const blob = await read('a')
  t.ok(blob.bytes.equals(bytes))
  t.equal(blob.count, 3)
})

t.test('deleting a blob deletes its parts', async (t) => {
  const { blobs, write, read, counts } = open(t)
  await write('a', makeBytes(600_000))
  await blobs.delete('mx', 'a')
  await blobs.delete('mx', 'a')
  await t.rejects(read('a'), { code: 404, message: 'not found: a' })
  t.strictSame(await counts(), { heads: 0, parts: 0, loose: 0 })
})

t.test('an upload that fails or is too long leaves the previous blob unchanged', async (t) => {
  const { blobs, write, read, counts } = open(t, 1_000_000)
  const bytes = makeBytes(300_000)
  await write('a', bytes)
  const failing = toStream([makeBytes(400_000)], new Error('source failed'))
  await t.rejects(blobs.write('mx', 'a', DETAILS, failing), { message: 'source failed' })
  await t.rejects(write('a', makeBytes(1_000_001)), {
    code: 413,
    message: 'a blob must be at most 1000000 bytes',
  })
  t.ok((await read('a')).bytes.equals(bytes))
  t.strictSame(await counts(), { heads: 1, parts: 2, loose: 0 })
})

t.test('one of ten concurrent uploads is stored intact, without parts of the others', async (t) => {
  const { write, read, counts } = open(t)
  const all = Array.from({ length: 10 }, (_, i) => makeBytes(600_000, i + 1))
  await Promise.all(all.map((bytes) => write('a', bytes)))
  const { bytes } = await read('a')
  t.ok(all.some((content) => content.equals(bytes)))
  t.strictSame(await counts(), { heads: 1, parts: 3, loose: 0 })
})

t.test('a read of a blob that is replaced concurrently fails with 409', async (t) => {
  const { blobs, write } = open(t)
  await write('a', makeBytes(600_000))
  const reading = (await blobs.read('mx', 'a')).parts[Symbol.asyncIterator]()
  await reading.next()
  await write('a', makeBytes(10))
  await t.rejects(reading.next(), {
    code: 409,
    message: 'a was written or deleted while it was being read',
  })
})

t.test('parts of an upload interrupted by a crash are deleted a day later', async (t) => {
  const { store, clock, write, counts } = open(t)
  const startedAt = String(clock.ms).padStart(16, '0')
  await store.commit([
    { table: loose, key: `${startedAt}/dead`, value: new Uint8Array(0) },
    { table: parts, key: 'dead/00000000', value: new Uint8Array(9) },
  ])
  await write('a', makeBytes(10))
  t.strictSame(await counts(), { heads: 1, parts: 2, loose: 1 })
  clock.ms += 86_400_001
  await write('b', makeBytes(10))
  t.strictSame(await counts(), { heads: 2, parts: 2, loose: 0 })
})

t.test('an upload that takes more than a day is aborted with 409', async (t) => {
  const { blobs, clock, write, read, counts } = open(t)
  const slow = (async function* () {
    yield makeBytes(300_000)
    clock.ms += 86_400_001
    await write('other', makeBytes(10))
    yield makeBytes(10)
  })()
  await t.rejects(blobs.write('mx', 'a', DETAILS, slow), { code: 409 })
  await t.rejects(read('a'), { code: 404 })
  t.strictSame(await counts(), { heads: 1, parts: 1, loose: 0 })
})
