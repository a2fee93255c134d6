import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import type {
  StoreAdapter,
  StoreChange,
  StoreEvent,
  StoreRange,
  StoreTable,
} from '../../core/contracts/store.ts'
import type { Maybe } from '../../lib/async/maybe.ts'

/** An empty store to test. */
export interface StoreSubject {
  readonly adapter: StoreAdapter
  /** Reopens the data of a closed adapter. Absent if the adapter is not persistent. */
  readonly reopen?: () => Maybe<StoreAdapter>
}

const NOW_MS = 1_000_000
const USERS: StoreTable = { database: 'mx', table: 'users' }
const ALL: StoreRange = { limit: 100_000, maxBytes: 1e9 }
/** Sorted by UTF-8 bytes; in UTF-16, the emoji would precede U+E000. */
const ORDERED = [
  '\u0001',
  '\u0001\u0001',
  ' ',
  '"',
  '%_\\',
  '0',
  '10',
  '9',
  'A',
  'Z',
  '_',
  'a',
  'a\u0001',
  'a ',
  'a/',
  'a/b',
  'aa',
  'a~',
  'b',
  `b${'x'.repeat(1023)}`,
  '~',
  '\u007f',
  '\u0080',
  '\u00e9',
  '\u00e9t\u00e9',
  '\u00ff',
  '\u0100',
  '\u20ac',
  '\ud7ff',
  '\ue000',
  '\uff41',
  '\uffff',
  '\u{10000}',
  '\u{1f600}',
  '\u{10ffff}',
]

/** Contract of stores without `createStore`; optional capabilities are tested if present. */
export function testStore(t: Test, create: (t: Test) => Maybe<StoreSubject>): void {
  const open = async (t: Test): Promise<StoreSubject> => {
    const subject = await create(t)
    t.teardown(() => subject.adapter.close?.())
    return subject
  }

  t.test('contract: an empty store has no record, no table and nothing to delete', async (t) => {
    const { adapter } = await open(t)
    t.equal(await adapter.read(USERS, 'a'), undefined)
    t.same(await adapter.scan(USERS, ALL), { records: [], more: false })
    t.same(await adapter.listTables({ limit: 10 }), [])
    t.same(await adapter.listTables({ database: 'mx', limit: 10 }), [])
    t.same(await adapter.commit([[remove('a')]], NOW_MS), [[0]])
  })

  t.test('contract: reads a record as it was written', async (t) => {
    const { adapter } = await open(t)
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
    const metadata = { 'content-type': 'a/b', été: '\u0001 "\u{1f600}', empty: '' }
    const written = [
      write('full', { value: bytes, metadata, expiresMs: NOW_MS + 5 }),
      write('bare', { value: new Uint8Array(0) }),
      write('long', { value: new Uint8Array(1024 * 1024).fill(7) }),
      write('late', { expiresMs: 8.64e15 }),
    ]
    const [versions] = await commit(adapter, [written])
    for (const [index, { key, value, metadata, expiresMs }] of written.entries()) {
      const record = await adapter.read(USERS, key)
      t.same(
        { ...record!, value: Buffer.from(record!.value), metadata: { ...record!.metadata } },
        { key, value: Buffer.from(value!), metadata, expiresMs, version: versions![index] },
        key,
      )
    }
  })

  t.test(
    'contract: a record that was read does not change with later reads and writes',
    async (t) => {
      const { adapter } = await open(t)
      await commit(adapter, [[write('a', { value: Buffer.from('first') })]])
      const record = await adapter.read(USERS, 'a')
      const { records } = await adapter.scan(USERS, ALL)
      await commit(adapter, [[write('a', { value: Buffer.from('other') }), write('b')]])
      for (let i = 0; i < 100; i++) await adapter.read(USERS, 'b')
      t.equal(Buffer.from(record!.value).toString(), 'first')
      t.equal(Buffer.from(records[0]!.value).toString(), 'first')
    },
  )

  t.test('contract: orders keys by their UTF-8 bytes, in both directions', async (t) => {
    const { adapter } = await open(t)
    await commit(
      adapter,
      ORDERED.toReversed().map((key) => [write(key)]),
    )
    t.same(await listKeys(adapter, {}), ORDERED)
    t.same(await listKeys(adapter, { reverse: true }), ORDERED.toReversed())
  })

  t.test('contract: a range includes its start and excludes its end', async (t) => {
    const { adapter } = await open(t)
    await commit(adapter, [ORDERED.map((key) => write(key))])
    for (const [from, to] of [
      ['a', 'b'],
      ['a\0', 'b\0'],
      ['a', undefined],
      [undefined, 'a'],
      [undefined, 'a\0'],
      ['0', '0'],
      ['b', 'a'],
      ['\uffff', '\u{10ffff}'],
      ['not there', 'nothing'],
    ] as const) {
      const expected = ORDERED.filter(
        (key) =>
          (from === undefined || compare(key, from) >= 0) &&
          (to === undefined || compare(key, to) < 0),
      )
      const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
      t.same(await listKeys(adapter, range), expected, JSON.stringify(range))
      t.same(await listKeys(adapter, { ...range, reverse: true }), expected.toReversed())
      for (const reverse of [false, true]) {
        const { records, more } = await adapter.scan(USERS, { ...ALL, ...range, reverse, limit: 2 })
        const all = reverse ? expected.toReversed() : expected
        t.same(
          records.map(({ key }) => key),
          all.slice(0, 2),
          'the first two',
        )
        if (expected.length > 2) t.equal(more, true)
        if (expected.length < 2) t.equal(more, false)
      }
    }
  })

  t.test('contract: limits a slice by bytes, with at least one record', async (t) => {
    const { adapter } = await open(t)
    const keys = ['a', 'b', 'c', 'd', 'e']
    await commit(adapter, [keys.map((key) => write(key, { value: new Uint8Array(100) }))])
    for (const [maxBytes, maxRecords] of [
      [1, 1],
      [100, 2],
      [250, 3],
      [1000, 5],
    ] as const) {
      const { records, more } = await adapter.scan(USERS, { limit: 10, maxBytes })
      t.ok(records.length >= 1 && records.length <= maxRecords, `${maxBytes}: ${records.length}`)
      t.same(
        records.map(({ key }) => key),
        keys.slice(0, records.length),
      )
      if (records.length < keys.length) t.equal(more, true)
    }
  })

  t.test('contract: lists keys without values, with version and expiry', async (t) => {
    const { adapter } = await open(t)
    const change = write('a', { metadata: { b: 'c' }, expiresMs: NOW_MS + 1 })
    const [versions] = await commit(adapter, [[change]])
    const { records } = await adapter.scan(USERS, { ...ALL, keysOnly: true })
    t.match(records, [{ key: 'a', expiresMs: NOW_MS + 1, version: versions![0] }])
    t.same(Object.keys(records[0]!.metadata), [])
    t.equal(records[0]!.value.length, 0)
  })

  t.test('contract: separates tables whose names share a prefix', async (t) => {
    const { adapter } = await open(t)
    const long = 'n'.repeat(253)
    const tables = [
      ['a', 'b'],
      ['a', 'b.c'],
      ['a', 'bb'],
      ['a.b', 'c'],
      ['aa', 'b'],
      [long, long],
    ].map(([database, table]) => ({ database: database!, table: table! }))
    const key = 'k'.repeat(1024)
    await commit(
      adapter,
      tables.map((table, i) => [
        write(key, { table, value: Buffer.from([i]) }),
        write('x', { table }),
      ]),
    )
    for (const [i, table] of tables.entries()) {
      t.same([...(await adapter.read(table, key))!.value], [i])
      for (const reverse of [false, true]) {
        const { records } = await adapter.scan(table, { ...ALL, reverse })
        t.equal(records.length, 2, `${table.database} ${table.table}`)
      }
    }
    t.same(await adapter.listTables({ limit: 100 }), tables)
    for (const [i, after] of tables.entries()) {
      t.same(await adapter.listTables({ after, limit: 100 }), tables.slice(i + 1))
      t.same(await adapter.listTables({ after, limit: 1 }), tables.slice(i + 1, i + 2))
    }
    const keyAfterA = { database: 'a', table: '~' }
    t.same(await adapter.listTables({ after: keyAfterA, limit: 100 }), tables.slice(3))
    const limit = 2
    const database = 'a'
    t.same(await adapter.listTables({ database, limit }), tables.slice(0, 2))
    t.same(await adapter.listTables({ database, after: tables[1]!, limit }), [tables[2]])
    t.same(await adapter.listTables({ database, after: keyAfterA, limit }), [])
    t.same(await adapter.listTables({ database: 'b', limit }), [])
    const table = tables[1]!
    await commit(adapter, [[remove(key, { table }), remove('x', { table })]])
    t.same(
      await adapter.listTables({ database, limit }),
      [tables[0], tables[2]],
      'a table without records is not listed',
    )
    t.ok(await adapter.read(tables[0]!, key))
  })

  t.test('contract: increments the version with every write, even of a deleted key', async (t) => {
    const { adapter } = await open(t)
    let last = 0
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 3; i++) {
        const [versions] = await commit(adapter, [[write('a')]])
        t.ok(versions![0]! > last && Number.isSafeInteger(versions![0]))
        last = versions![0]!
        t.equal((await adapter.read(USERS, 'a'))!.version, last)
      }
      t.same(await adapter.commit([[remove('a')]], NOW_MS), [[last]], 'returns the removed version')
      t.equal(await adapter.read(USERS, 'a'), undefined)
    }
  })

  t.test(
    'contract: a failed condition reports the current record and changes nothing',
    async (t) => {
      const { adapter } = await open(t)
      const [versions] = await commit(adapter, [[write('a')]])
      const version = versions![0]!
      const other: StoreTable = { database: 'mx', table: 'other' }
      const rejected = [
        [[write('a', { ifVersion: 0 })], { index: 0, version }],
        [[write('a', { ifVersion: version + 1 })], { index: 0, version }],
        [[remove('a', { ifVersion: 0 })], { index: 0, version }],
        [[write('b', { ifVersion: version })], { index: 0, version: 0 }],
        [[remove('b', { ifVersion: version })], { index: 0, version: 0 }],
        [
          [write('c', { table: other }), remove('a', { ifVersion: version + 1 })],
          { index: 1, version },
        ],
        [
          [write('c'), write('d', { ifVersion: 0 }), write('a', { ifVersion: 0 })],
          { index: 2, version },
        ],
      ] as const
      for (const [group, conflict] of rejected)
        t.same(await adapter.commit([group], NOW_MS), [conflict], JSON.stringify(group))
      t.same(await adapter.listTables({ limit: 10 }), [USERS])
      t.same(await listKeys(adapter, {}), ['a'])
      const [outcome] = await commit(adapter, [
        [
          write('a', { ifVersion: version }),
          write('b', { ifVersion: 0 }),
          write('c', { table: other }),
        ],
      ])
      t.equal(outcome!.length, 3)
      t.same(await listKeys(adapter, {}), ['a', 'b'])
      t.same(await adapter.commit([[remove('a', { ifVersion: outcome![0]! })]], NOW_MS), [
        [outcome![0]],
      ])
    },
  )

  t.test('contract: commits groups in order, each atomically', async (t) => {
    const { adapter } = await open(t)
    const outcomes = await adapter.commit(
      [
        [write('a', { ifVersion: 0 }), write('b')],
        [write('a', { ifVersion: 0 }), write('c')],
        [remove('a')],
        [write('a', { ifVersion: 0, value: Buffer.from('last') })],
      ],
      NOW_MS,
    )
    const [first, second, third, fourth] = outcomes as [number[], object, number[], number[]]
    t.equal(first.length, 2)
    t.same(second, { index: 0, version: first[0] })
    t.same(third, [first[0]])
    t.ok(fourth[0]! > first[0]!)
    t.same(await listKeys(adapter, {}), ['a', 'b'])
    t.equal(Buffer.from((await adapter.read(USERS, 'a'))!.value).toString(), 'last')
  })

  t.test(
    'contract: conditions ignore an expired record, which can still be read and removed',
    async (t) => {
      const { adapter } = await open(t)
      const at = { expiresMs: NOW_MS }
      const [versions] = await commit(adapter, [[write('a', at), write('b', at), write('c', at)]])
      t.equal((await adapter.read(USERS, 'a'))!.expiresMs, NOW_MS)
      t.same(await adapter.commit([[write('a', { ifVersion: 0 })]], NOW_MS - 1), [
        { index: 0, version: versions![0] },
      ])
      t.same(await adapter.commit([[write('b', { ifVersion: versions![1]! })]], NOW_MS), [
        { index: 0, version: 0 },
      ])
      t.same(await adapter.commit([[remove('c')]], NOW_MS), [[versions![2]]])
      t.equal(await adapter.read(USERS, 'c'), undefined)
      const [written] = await commit(adapter, [[write('a', { ifVersion: 0 })]])
      t.ok(written![0]! > versions![0]!)
      t.equal((await adapter.read(USERS, 'a'))!.expiresMs, 0)
    },
  )

  t.test('contract: purges only expired records, oldest first', async (t) => {
    const { adapter } = await open(t)
    if (adapter.purge === undefined) return t.comment('the adapter purges expired records itself')
    const other: StoreTable = { database: 'a', table: 'b' }
    await commit(adapter, [
      [
        write('third', { expiresMs: NOW_MS }),
        write('first', { expiresMs: 1 }),
        write('second', { expiresMs: NOW_MS - 1, table: other }),
        write('later', { expiresMs: NOW_MS + 1 }),
        write('never'),
        write('longer', { expiresMs: 2 }),
        write('kept', { expiresMs: 3 }),
        write('gone', { expiresMs: 4 }),
      ],
    ])
    await commit(adapter, [
      [write('longer', { expiresMs: NOW_MS + 2 }), write('kept'), remove('gone')],
    ])
    t.same(await adapter.purge(NOW_MS, 2), [
      { table: USERS, key: 'first' },
      { table: other, key: 'second' },
    ])
    t.equal(await adapter.read(USERS, 'first'), undefined)
    t.same(await adapter.listTables({ limit: 10 }), [USERS])
    t.same(await adapter.purge(NOW_MS, 100), [{ table: USERS, key: 'third' }])
    t.same(await adapter.purge(NOW_MS, 100), [])
    t.same(await listKeys(adapter, {}), ['kept', 'later', 'longer', 'never'])
  })

  t.test('contract: reads back a commit of many groups', async (t) => {
    const { adapter } = await open(t)
    const groups = Array.from({ length: 5000 }, (_, i) => [
      write(`k${String(i).padStart(5, '0')}`, { value: Buffer.from(String(i)) }),
    ])
    t.equal((await commit(adapter, groups)).length, 5000)
    const { records, more } = await adapter.scan(USERS, { ...ALL, limit: 5001 })
    t.equal(more, false)
    t.equal(records.length, 5000)
    t.ok(records.every(({ value }, i) => Buffer.from(value).toString() === String(i)))
  })

  t.test('contract: commits a group of many changes atomically', async (t) => {
    const { adapter } = await open(t)
    const keys = Array.from({ length: 1000 }, (_, i) => `k${String(i).padStart(3, '0')}`)
    const [versions] = await commit(adapter, [keys.map((key) => write(key))])
    t.equal(new Set(versions as readonly number[]).size, 1000)
    const removals = keys.map((key) => remove(key))
    const group = [...removals, write('other', { ifVersion: 1 })]
    const outcomes = await adapter.commit([group], NOW_MS)
    t.same(outcomes, [{ index: 1000, version: 0 }])
    t.same(await listKeys(adapter, { limit: 2000 }), keys)
    t.same(await commit(adapter, [removals]), [versions])
    t.same(await listKeys(adapter, {}), [])
  })

  t.test('contract: a watch reports writes and deletions once they can be read', async (t) => {
    const { adapter } = await open(t)
    if (adapter.watch === undefined) return t.comment('the adapter has no watch')
    const events: StoreEvent[] = []
    const stop = await adapter.watch({
      onEvent: (event) => events.push(event),
      onMissedEvents: () => {},
    })
    const other: StoreTable = { database: 'a', table: 'b' }
    await commit(adapter, [[write('a'), write('b', { table: other, expiresMs: 1 })]])
    await adapter.commit([[write('c', { ifVersion: 7 })]], NOW_MS)
    await commit(adapter, [[write('a')], [remove('a'), remove('nothing')]])
    await adapter.purge?.(NOW_MS, 10)
    await waitUntil(() => events.length >= (adapter.purge === undefined ? 4 : 5))
    t.same(
      events.filter(({ key }) => key === 'a').map(({ type }) => type),
      ['write', 'write', 'delete'],
    )
    const ofOther = [{ type: 'write', table: other, key: 'b' }]
    if (adapter.purge !== undefined) ofOther.push({ type: 'delete', table: other, key: 'b' })
    t.same(
      events.filter(({ key }) => key !== 'a'),
      ofOther,
    )
    await stop()
    const before = events.length
    await commit(adapter, [[write('after')]])
    t.equal(events.length, before)
  })

  t.test('contract: restores committed records after reopening', async (t) => {
    const { adapter, reopen } = await open(t)
    if (reopen === undefined) return t.comment('the adapter is not persistent')
    const [first] = await commit(adapter, [
      [
        write('a', { value: Buffer.from('kept'), metadata: { b: 'c' } }),
        write('b', { expiresMs: 1 }),
      ],
      [write('removed')],
      [remove('removed')],
    ])
    await adapter.close?.()
    const reopened = await reopen()
    t.teardown(() => reopened.close?.())
    const record = await reopened.read(USERS, 'a')
    t.equal(Buffer.from(record!.value).toString(), 'kept')
    t.same({ ...record!.metadata }, { b: 'c' })
    t.equal(record!.version, first![0])
    t.same(await listKeys(reopened, {}), ['a', 'b'])
    const [second] = await commit(reopened, [[write('removed')]])
    t.ok(second![0]! > first![0]! + 2, 'versions continue after reopening')
    if (reopened.purge !== undefined)
      t.same(await reopened.purge(NOW_MS, 10), [{ table: USERS, key: 'b' }])
  })

  t.test('contract: close waits for the commit in flight', async (t) => {
    const { adapter, reopen } = await open(t)
    const committing = commit(adapter, [[write('a')]])
    await adapter.close?.()
    t.equal((await committing).length, 1)
    if (reopen === undefined) return
    const reopened = await reopen()
    t.teardown(() => reopened.close?.())
    t.ok(await reopened.read(USERS, 'a'))
  })
}

/** Commits groups that must not conflict. */
async function commit(
  adapter: StoreAdapter,
  groups: readonly (readonly StoreChange[])[],
): Promise<readonly (readonly number[])[]> {
  const outcomes = await adapter.commit(groups, NOW_MS)
  return outcomes.map((outcome) => {
    if (outcome instanceof Error) throw outcome
    if ('index' in outcome) throw new Error(`conflict: ${JSON.stringify(outcome)}`)
    return outcome
  })
}

function write(key: string, overrides: Partial<StoreChange> = {}): StoreChange {
  const value = Buffer.from(`value of ${key}`)
  return {
    table: USERS,
    key,
    value,
    metadata: {},
    expiresMs: 0,
    ifVersion: undefined,
    ...overrides,
  }
}

function remove(key: string, overrides: Partial<StoreChange> = {}): StoreChange {
  return write(key, { value: undefined, ...overrides })
}

async function listKeys(adapter: StoreAdapter, range: Partial<StoreRange>): Promise<string[]> {
  const { records, more } = await adapter.scan(USERS, { ...ALL, ...range })
  if (more) throw new Error('more records than fit into a page')
  return records.map(({ key }) => key)
}

function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(1)
}
