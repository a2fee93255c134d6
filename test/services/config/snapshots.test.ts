import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { createStore, type Store } from '../../../core/store/store.ts'
import { formatHead, HEAD, toTable, toVersionKey } from '../../../services/config/records.ts'
import { createSnapshots, readTree } from '../../../services/config/snapshots.ts'
import { formatJson } from '../../../services/config/tree-text.ts'

const TABLE = toTable('mx')

function open(t: Test) {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  const reads: string[] = []
  const spied: Store = {
    ...store,
    read(table, key) {
      reads.push(key)
      return store.read(table, key)
    },
  }
  const put = async (version: number, tree: string): Promise<void> => {
    const entry = {
      version,
      timestamp: 0,
      account: '',
      action: 'set',
      path: '',
      secret: false,
    } as const
    await store.commit([
      { table: TABLE, key: HEAD, value: formatHead({ versions: [entry] }) },
      { table: TABLE, key: toVersionKey(entry), value: Buffer.from(tree) },
    ])
  }
  return { store, spied, reads, put, snapshots: createSnapshots(spied) }
}

t.test('what others wrote counts at once; what did not change is not read again', async (t) => {
  const { snapshots, put, reads } = open(t)
  t.match(await snapshots.read('mx'), { version: 0, headVersion: 0, head: undefined })
  await put(1, '{"a":"1"}')
  const first = await snapshots.read('mx')
  t.equal(first.version, 1)
  t.equal(formatJson(first.tree), '{"a":1}')
  reads.length = 0
  t.equal(await snapshots.read('mx'), first)
  t.strictSame(reads, ['head'])
  await put(2, '{"a":"2"}')
  t.equal(formatJson((await snapshots.read('mx')).tree), '{"a":2}')
  t.equal((await snapshots.read('foo')).version, 0)
})

t.test('a version that went away while it was looked for is looked for again', async (t) => {
  const { store, put } = open(t)
  await put(1, '{"a":"1"}')
  let isFirst = true
  const racing: Store = {
    ...store,
    async read(table, key) {
      const record = await store.read(table, key)
      if (key !== HEAD || !isFirst) return record
      isFirst = false
      await store.commit([{ table, key: toVersionKey({ version: 1 }) }])
      await put(2, '{"a":"2"}')
      return record
    },
  }
  t.equal(formatJson((await createSnapshots(racing).read('mx')).tree), '{"a":2}')
})

t.test('a head whose version is not there is an error, not an empty tree', async (t) => {
  const { store, snapshots, put } = open(t)
  await put(1, '{}')
  await store.commit([{ table: TABLE, key: toVersionKey({ version: 1 }) }])
  await t.rejects(snapshots.read('mx'), {
    code: 500,
    message: /^the configuration of mx is incomplete/,
  })
})

t.test('a version that is kept is read; another is 404', async (t) => {
  const { store, snapshots, put } = open(t)
  await t.rejects(snapshots.readVersion('mx', 1, 'id'), {
    id: 'id',
    code: 404,
    message: 'not found: version 1 of mx; kept: none',
  })
  await put(1, '{"a":"1"}')
  const old = {
    version: 1,
    timestamp: 0,
    account: '',
    action: 'set',
    path: '',
    secret: false,
  } as const
  const versions = [old, { ...old, version: 2 }]
  await store.commit([
    { table: TABLE, key: HEAD, value: formatHead({ versions }) },
    { table: TABLE, key: toVersionKey({ version: 2 }), value: Buffer.from('{"a":"2"}') },
  ])
  const read = async (version: number) => {
    const snapshot = await snapshots.readVersion('mx', version, 'id')
    return [snapshot.version, formatJson(snapshot.tree)]
  }
  t.strictSame(await read(1), [1, '{"a":1}'])
  t.strictSame(await read(2), [2, '{"a":2}'])
  await t.rejects(read(3), { message: 'not found: version 3 of mx; kept: 1 to 2' })
  await store.commit([{ table: TABLE, key: toVersionKey({ version: 1 }) }])
  await t.rejects(read(1), { code: 500, message: /incomplete/ })
})

t.test('a tree that was remembered is not read', async (t) => {
  const { snapshots, spied, put, reads } = open(t)
  await put(1, '{"a":"1"}')
  const before = await snapshots.read('mx')
  reads.length = 0
  const own = { ...before, tree: new Map() }
  snapshots.remember('mx', own, 10)
  t.equal(await snapshots.read('mx'), own)
  t.equal(await readTree(spied, 'mx', { ...before.head!.versions[0]!, version: 9 }), undefined)
  t.strictSame(reads, ['head', toVersionKey({ version: 9 })])
})
