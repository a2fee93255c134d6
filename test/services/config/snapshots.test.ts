import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { createStore, type Store } from '../../../domain/store/store.ts'
import {
  formatHead,
  HEAD,
  toPatchKey,
  toTable,
  toTreeKey,
  type VersionEntry,
} from '../../../services/config/records.ts'
import { createSnapshots, readPatch } from '../../../services/config/snapshots.ts'
import { formatTreeJson } from '../../../services/config/tree/tree-text.ts'

const TABLE = toTable('mx')
const TREE = toTreeKey({})
const key = (version: number) => toPatchKey({ version })
const entry = (version: number): VersionEntry => ({
  version,
  timestamp: 0,
  account: '',
  action: 'set',
  path: '',
  secret: false,
})

function open(t: Test) {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  const reads: string[] = []
  const countingStore: Store = {
    ...store,
    read(table, name) {
      reads.push(name)
      return store.read(table, name)
    },
    list(table, query) {
      reads.push(`${query?.prefix}*`)
      return store.list(table, query)
    },
  }
  /** Writes versions up to `version`, and patches of the earlier ones. */
  const put = async (version: number, tree: string, patches: readonly string[] = []) => {
    const first = version - patches.length
    const versions = Array.from({ length: patches.length + 1 }, (_, i) => entry(first + i))
    await store.commit([
      { table: TABLE, key: HEAD, value: formatHead({ versions }) },
      { table: TABLE, key: TREE, value: Buffer.from(tree) },
      ...patches.map((patch, i) => ({
        table: TABLE,
        key: key(first + i),
        value: Buffer.from(patch),
      })),
    ])
  }
  return { store, countingStore, reads, put, snapshots: createSnapshots(countingStore) }
}

t.test(
  'reads changes by other servers immediately and unchanged trees from the cache',
  async (t) => {
    const { snapshots, put, reads } = open(t)
    t.match(await snapshots.read('mx'), { version: 0, headVersion: 0, head: undefined })
    await put(1, '{"a":"1"}')
    const first = await snapshots.read('mx')
    t.equal(first.version, 1)
    t.equal(formatTreeJson(first.tree), '{"a":1}')
    reads.length = 0
    t.equal(await snapshots.read('mx'), first)
    t.strictSame(reads, [HEAD])
    await put(2, '{"a":"2"}')
    reads.length = 0
    t.equal(formatTreeJson((await snapshots.read('mx')).tree), '{"a":2}')
    t.strictSame(reads, [HEAD, 'now/*'], 'head and tree in one read')
    t.equal((await snapshots.read('foo')).version, 0)
  },
)

t.test('reads head and tree consistently under concurrency', async (t) => {
  const { store, put } = open(t)
  await put(1, '{"a":"1"}')
  let isFirst = true
  const racing: Store = {
    ...store,
    async read(table, name) {
      const record = await store.read(table, name)
      if (isFirst) await put(2, '{"a":"2"}')
      isFirst = false
      return record
    },
  }
  const { version, tree } = await createSnapshots(racing).read('mx')
  t.strictSame([version, formatTreeJson(tree)], [2, '{"a":2}'])
})

t.test('reports a head without its tree as an error', async (t) => {
  const { store, snapshots, put } = open(t)
  await put(1, '{}')
  await store.commit([{ table: TABLE, key: TREE }])
  await t.rejects(snapshots.read('mx'), {
    code: 500,
    message: /^the configuration of mx is incomplete/,
  })
})

t.test('reads a stored version and returns 404 for any other version', async (t) => {
  const { store, snapshots, put } = open(t)
  await t.rejects(snapshots.readVersion('mx', 1, 'id'), {
    id: 'id',
    code: 404,
    message: 'not found: version 1 of mx; stored versions: none',
  })
  await put(4, '{"a":"4","b":"1"}', ['{"a":"","c":"5"}', '{"a":"3"}'])
  const read = async (version: number) => {
    const snapshot = await snapshots.readVersion('mx', version, 'id')
    return [snapshot.version, formatTreeJson(snapshot.tree)]
  }
  t.strictSame(await read(4), [4, '{"a":4,"b":1}'])
  t.strictSame(await read(3), [3, '{"a":3,"b":1}'])
  t.strictSame(await read(2), [2, '{"b":1,"c":5}'])
  await t.rejects(read(1), { message: 'not found: version 1 of mx; stored versions: 2 to 4' })
  await store.commit([{ table: TABLE, key: key(3) }])
  await t.rejects(read(2), { code: 500, message: /incomplete/ })
})

t.test('retries a version that is re-encrypted while it is read', async (t) => {
  const { store, put } = open(t)
  await put(2, '{"a":"2"}', ['{"a":"1"}'])
  let isFirst = true
  const racing: Store = {
    ...store,
    async read(table, name) {
      if (name === key(1) && isFirst) {
        isFirst = false
        const versions = [{ ...entry(1), keyId: 'k' }, entry(2)]
        await store.commit([
          { table, key: name },
          { table, key: `${name}/k`, value: Buffer.from('{"a":["x"]}') },
          { table, key: HEAD, value: formatHead({ keyId: 'k', versions }) },
        ])
      }
      return store.read(table, name)
    },
  }
  const { tree } = await createSnapshots(racing).readVersion('mx', 1, 'id')
  t.equal(formatTreeJson(tree), '{"a":"[secret]"}')
})

t.test('does not read a cached tree', async (t) => {
  const { snapshots, countingStore, put, reads } = open(t)
  await put(1, '{"a":"1"}')
  const before = await snapshots.read('mx')
  reads.length = 0
  const copy = { ...before, tree: new Map() }
  snapshots.put('mx', copy, 10)
  t.equal(await snapshots.read('mx'), copy)
  t.equal(await readPatch(countingStore, 'mx', entry(9)), undefined)
  t.strictSame(reads, [HEAD, key(9)])
})
