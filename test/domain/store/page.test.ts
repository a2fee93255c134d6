import t from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import type { StoreAdapter, StoreRange } from '../../../core/contracts/store.ts'
import { MAX_PAGE, readPage, type StoreQuery } from '../../../domain/store/page.ts'

const TABLE = { database: 'mx', table: 'things' }
const matchAll = (): boolean => true

/** A store with keys k00000, k00001 and so on; records the requested ranges. */
function open(count: number, valueBytes = 1) {
  const adapter = createMemoryStore()
  const group = Array.from({ length: count }, (_, i) => ({
    table: TABLE,
    key: `k${String(i).padStart(5, '0')}`,
    value: new Uint8Array(valueBytes),
    metadata: {},
    expiresMs: 0,
    ifVersion: undefined,
  }))
  void adapter.commit([group], 0)
  const ranges: StoreRange[] = []
  const watched: StoreAdapter = {
    ...adapter,
    scan: (table, range) => {
      ranges.push(range)
      return adapter.scan(table, range)
    },
  }
  const read = async (query: StoreQuery) => {
    const { records, next } = await readPage(watched, TABLE, query, matchAll)
    return { keys: records.map(({ key }) => key), next }
  }
  return { read, ranges, adapter: watched }
}

t.test('returns at most 1000 records and the start of the next page', async (t) => {
  const { read } = open(2500)
  const sizes: number[] = []
  let after: string | undefined
  do {
    const { keys, next } = await read({ limit: 5000, ...(after !== undefined && { after }) })
    sizes.push(keys.length)
    after = next
  } while (after !== undefined)
  t.strictSame(sizes, [MAX_PAGE, MAX_PAGE, 500])
})

t.test('returns no next page at the end', async (t) => {
  const { read } = open(4)
  t.strictSame(await read({ limit: 4 }), {
    keys: ['k00000', 'k00001', 'k00002', 'k00003'],
    next: undefined,
  })
  t.equal((await read({ limit: 3 })).next, 'k00002')
  t.equal((await read({ limit: 2, offset: 2 })).next, undefined)
  t.equal((await read({ limit: 1, suffix: '3' })).next, undefined)
})

t.test('limits a page by bytes', async (t) => {
  const { read, ranges } = open(20, 1024 * 1024)
  const { keys, next } = await read({})
  t.ok(keys.length >= 5 && keys.length <= 8, String(keys.length))
  t.equal(next, keys.at(-1))
  for (const { maxBytes } of ranges) t.ok(maxBytes <= 8 * 1024 * 1024)
})

t.test('counts metadata as JSON', async (t) => {
  const { adapter } = open(0)
  const metadata = { a: '\u0001'.repeat(16_000) }
  const group = Array.from({ length: 1000 }, (_, i) => ({
    table: TABLE,
    key: String(i),
    value: new Uint8Array(0),
    metadata,
    expiresMs: 0,
    ifVersion: undefined,
  }))
  void adapter.commit([group], 0)
  const { records } = await readPage(adapter, TABLE, {}, matchAll)
  t.ok(JSON.stringify(records).length < 12 * 1024 * 1024)
  t.ok(records.length > 50)
})

t.test('skips records by key only and yields to the event loop', async (t) => {
  const { read, ranges } = open(10_000)
  let ticks = 0
  const count = (): void => {
    ticks++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const { keys } = await read({ offset: 9_998 })
  t.strictSame(keys, ['k09998', 'k09999'])
  const { keys: matching } = await read({ suffix: '999', limit: 3 })
  clearImmediate(counting)
  t.strictSame(matching, ['k00999', 'k01999', 'k02999'])
  t.ok(ranges.every(({ keysOnly, limit }) => keysOnly === true && limit === 1000))
  t.ok(ticks >= 9)
})

t.test('omits a record that is deleted while the page is read', async (t) => {
  const { adapter } = open(3)
  const deleting: StoreAdapter = {
    ...adapter,
    read: (table, key) => (key === 'k00001' ? undefined : adapter.read(table, key)),
  }
  const { records } = await readPage(deleting, TABLE, { offset: 1 }, matchAll)
  t.strictSame(
    records.map(({ key }) => key),
    ['k00002'],
  )
})

t.test('stops reading when the caller aborts', async (t) => {
  const { adapter, ranges } = open(10_000)
  const controller = new AbortController()
  setImmediate(() => controller.abort(new Error('left')))
  const reading = readPage(adapter, TABLE, { suffix: 'none' }, matchAll, controller.signal)
  await t.rejects(reading, { message: 'left' })
  t.ok(ranges.length <= 2, `${ranges.length} range reads`)
})
