import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import type { StoreAdapter, StoreEvent, StoreListener } from '../../../core/contracts/store.ts'
import { storeFull, storeUnavailable } from '../../../domain/store/errors.ts'
import { createStore, type Store, type StoreOptions } from '../../../domain/store/store.ts'

const TABLE = { database: 'mx', table: 'things' }
const VALUE = Buffer.from('value')

function open(t: Test, options: StoreOptions = {}, adapter: Partial<StoreAdapter> = {}) {
  const clock = { ms: 1_000_000 }
  const store = createStore(
    { ...createMemoryStore(), ...adapter },
    { nowMs: () => clock.ms, purgeMs: 1, ...options },
  )
  t.teardown(store.close)
  return { store, clock }
}

async function write(store: Store, key: string, overrides: object = {}): Promise<number> {
  const [version] = await store.commit([{ table: TABLE, key, value: VALUE, ...overrides }])
  return version!
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1))
}

t.test('hides a record from the moment it expires', async (t) => {
  const { store, clock } = open(t, { purgeMs: 2 ** 30 })
  await write(store, 'a', { expiresMs: clock.ms + 10 })
  clock.ms += 9
  t.ok(await store.read(TABLE, 'a'))
  clock.ms += 1
  t.equal(await store.read(TABLE, 'a'), undefined)
  t.strictSame(await store.list(TABLE), { records: [] })
  t.ok(await write(store, 'a', { ifVersion: 0 }), 'an expired record is absent for conditions')
})

t.test('deletes and reports expired records in the background', async (t) => {
  const { store, clock } = open(t)
  const events: StoreEvent[] = []
  await store.watch(TABLE, '', { onEvent: (event) => events.push(event), onMissedEvents: () => {} })
  await write(store, 'a', { expiresMs: clock.ms + 10 })
  await write(store, 'b')
  clock.ms += 10
  await waitUntil(() => events.length === 3)
  t.strictSame(
    events.map(({ type, key }) => `${type} ${key}`),
    ['write a', 'write b', 'delete a'],
  )
})

t.test('reports changes once they can be read, and no rejected ones', async (t) => {
  const { store } = open(t)
  const events: string[] = []
  const listener: StoreListener = {
    onEvent: ({ type, key }) =>
      events.push(`${type} ${key}: ${store.read(TABLE, key) !== undefined}`),
    onMissedEvents: () => {},
  }
  const stop = await store.watch(TABLE, '', listener)
  const remove = { table: TABLE, key: 'a' }
  await write(store, 'a')
  await t.rejects(write(store, 'b', { ifVersion: 5 }))
  await store.commit([remove, { table: TABLE, key: 'nothing' }])
  stop()
  await write(store, 'c')
  t.strictSame(events, ['write a: true', 'delete a: false'])
})

t.test("uses the adapter's watch if other processes write, too", async (t) => {
  let listener: StoreListener | undefined
  let stopped = 0
  const { store } = open(
    t,
    {},
    {
      watch: (input) => {
        listener = input
        return async () => void stopped++
      },
    },
  )
  const events: string[] = []
  const onEvent = ({ key }: StoreEvent): void => void events.push(key)
  await store.watch(TABLE, 'a', { onEvent, onMissedEvents: () => events.push('gap') })
  const first = listener
  await store.watch(TABLE, 'b', { onEvent, onMissedEvents: () => {} })
  t.equal(listener, first, 'the adapter is watched once')
  await write(store, 'a')
  t.strictSame(events, [], 'local writes are reported by the adapter only')
  listener!.onEvent({ type: 'write', table: TABLE, key: 'a1' })
  listener!.onMissedEvents()
  t.strictSame(events, ['a1', 'gap'])
  await store.close()
  t.equal(stopped, 1)
})

t.test('restarts a failed watch with the next watcher', async (t) => {
  let count = 0
  const { store } = open(
    t,
    {},
    {
      watch: async () => {
        if (count++ === 0) throw new Error('unavailable')
        return () => {}
      },
    },
  )
  const listener: StoreListener = { onEvent: () => {}, onMissedEvents: () => {} }
  await t.rejects(store.watch(TABLE, '', listener), { message: 'unavailable' })
  t.ok(await store.watch(TABLE, '', listener))
})

t.test('responds with 409 and the current record to a failed condition', async (t) => {
  const { store } = open(t)
  const version = await write(store, 'a')
  const expectConflict = (ifVersion: number, key: string, message: string) =>
    t.rejects(write(store, key, { ifVersion }), { code: 409, id: 'store', message })
  await expectConflict(0, 'a', `key "a" must not exist, but has version ${version}`)
  await expectConflict(7, 'a', `key "a" must have version 7, but has version ${version}`)
  await expectConflict(7, 'b', 'key "b" must have version 7, but does not exist')
})

t.test(
  'rejects malformed input with 400 and the name of the field, and stores nothing',
  async (t) => {
    const { store } = open(t, { maxValueBytes: 10 })
    const validWrite = { table: TABLE, key: 'a', value: VALUE }
    const key = /^key must be 1 to 1024 bytes of UTF-8 without NUL, got/
    const rows: [object, RegExp][] = [
      [{ ...validWrite, key: '' }, key],
      [{ ...validWrite, key: 'a\0b' }, key],
      [{ ...validWrite, key: '\ud800' }, key],
      [{ ...validWrite, key: 'k'.repeat(1025) }, key],
      [{ ...validWrite, key: 1 }, key],
      [
        { ...validWrite, table: { database: '..', table: 'a' } },
        /^database must be letters.*got "\.\."$/,
      ],
      [{ ...validWrite, table: { database: 'a', table: '' } }, /^table must be letters.*got ""$/],
      [{ ...validWrite, table: { database: 'a', table: '__proto__' } }, /^table must be letters/],
      [{ ...validWrite, value: new Uint8Array(11) }, /^value must be at most 10 bytes, got 11$/],
      [
        { ...validWrite, metadata: { a: 'x'.repeat(16 * 1024) } },
        /^metadata must contain only strings, with at most 16384/,
      ],
      [{ ...validWrite, metadata: { a: 1 } }, /^metadata must contain only strings/],
      [{ ...validWrite, expiresMs: -1 }, /^expiresMs must be a whole number from 0 to/],
      [{ ...validWrite, expiresMs: Number.NaN }, /^expiresMs must be/],
      [{ ...validWrite, expiresMs: 1e16 }, /^expiresMs must be/],
      [{ ...validWrite, ifVersion: 0.5 }, /^ifVersion must be/],
      [{ ...validWrite, ifVersion: -1 }, /^ifVersion must be/],
    ]
    for (const [invalid, message] of rows) {
      const writes = [{ ...validWrite, key: 'fine' }, invalid as typeof validWrite]
      await t.rejects(store.commit(writes), { code: 400, id: 'store', message }, String(message))
    }
    await t.rejects(store.commit([validWrite, { ...validWrite }]), {
      code: 400,
      message: /^keys must be unique, got the duplicate/,
    })
    for (const invalid of [
      { prefix: '\0' },
      { suffix: '\ud800' },
      { from: 'x'.repeat(1025) },
      { to: '\0' },
    ])
      await t.rejects(store.list(TABLE, invalid), {
        code: 400,
        message: new RegExp(`^${Object.keys(invalid)[0]} must be at most 1024 bytes`),
      })
    for (const invalid of [{ after: 'a\0' }, { limit: -1 }, { offset: 0.5 }, { limit: Number.NaN }])
      await t.rejects(store.list(TABLE, invalid), {
        code: 400,
        message: new RegExp(`^${Object.keys(invalid)[0]} must be`),
      })
    t.throws(() => store.read(TABLE, ''), { code: 400 })
    t.throws(() => store.read({ database: '', table: 'a' }, 'a'), { code: 400 })
    await t.rejects(store.listTables({ database: 'a/b' }), { code: 400, message: /^database/ })
    await t.rejects(store.watch(TABLE, '\0', { onEvent() {}, onMissedEvents() {} }), {
      code: 400,
      message: /^prefix/,
    })
    t.strictSame(await store.listTables(), [])
  },
)

t.test('commits writes of many callers together', async (t) => {
  const memory = createMemoryStore()
  const sizes: number[] = []
  const { store } = open(
    t,
    {},
    {
      ...memory,
      commit: (groups, nowMs) => {
        sizes.push(groups.length)
        return memory.commit(groups, nowMs)
      },
    },
  )
  const versions = await Promise.all(Array.from({ length: 1000 }, (_, i) => write(store, `k${i}`)))
  t.equal(new Set(versions).size, 1000)
  t.strictSame(sizes, [1000])
})

t.test('writes several records atomically', async (t) => {
  const { store } = open(t)
  const other = { database: 'mx', table: 'other' }
  await t.rejects(
    store.commit([
      { table: TABLE, key: 'a', value: VALUE },
      { table: other, key: 'b', value: VALUE, ifVersion: 3 },
    ]),
    { code: 409 },
  )
  t.strictSame(await store.listTables(), [])
  const versions = await store.commit([
    { table: TABLE, key: 'a', value: VALUE },
    { table: other, key: 'a', value: VALUE, ifVersion: 0 },
  ])
  t.equal(versions.length, 2)
  t.strictSame(await store.listTables(), [other, TABLE])
  t.strictSame(await store.commit([]), [])
})

t.test('close waits for writes in flight and rejects further writes', async (t) => {
  const { store } = open(t)
  const writing = write(store, 'a')
  await store.close()
  t.ok(await writing)
  t.throws(() => store.read(TABLE, 'a'), { code: 503, message: 'the store is closed' })
  await t.rejects(write(store, 'a'), { code: 503 })
  await t.rejects(store.list(TABLE), { code: 503 })
  await t.rejects(store.listTables(), { code: 503 })
  await t.rejects(store.listDatabases(), { code: 503 })
  await t.rejects(store.watch(TABLE, '', { onEvent() {}, onMissedEvents() {} }), { code: 503 })
  await store.close()
})

t.test('rejects writes while too many are pending', async (t) => {
  const { store } = open(t, { maxWaitingBytes: 2000 })
  const first = write(store, 'a', { value: new Uint8Array(2000) })
  await t.rejects(write(store, 'b'), { code: 503, message: 'too many pending writes' })
  t.ok(await first)
  t.ok(await write(store, 'b'))
})

t.test('reports a failed purge unless the store is unavailable or full', async (t) => {
  const errors: unknown[] = []
  const failures = [storeUnavailable(undefined), storeFull(undefined)]
  const broken = new TypeError('broken')
  let reads = 0
  const purge = async () => {
    reads++
    const failure = failures.shift()
    if (failure !== undefined) throw failure
    if (reads === 3) return []
    throw broken
  }
  open(t, { onError: (error) => errors.push(error) }, { purge })
  await waitUntil(() => reads > 4)
  t.strictSame(errors, [broken])
})
