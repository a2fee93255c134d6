import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import { createStore, type Store } from '../../../../domain/store/store.ts'
import { type Change, createChanges } from '../../../../services/config/changes.ts'
import { KEY_NOTE, toTable } from '../../../../services/config/records.ts'
import { createSealer } from '../../../../services/config/secrets/sealer.ts'
import { parseSecretKey } from '../../../../services/config/secrets/secret-key.ts'
import { createSnapshots } from '../../../../services/config/snapshots.ts'
import { setNode } from '../../../../services/config/tree/merge.ts'
import { parseValue } from '../../../../services/config/tree/parse-value.ts'
import { splitConfigPath } from '../../../../services/config/tree/path.ts'
import { type ConfigMap, EMPTY } from '../../../../services/config/tree/tree.ts'
import { formatTreeJson } from '../../../../services/config/tree/tree-text.ts'
import { dumpStore, KEY, OTHER_KEY } from '../../../fixtures/platform-config.ts'

const ID = 'config.Config.Set'
const BASE: Omit<Change, 'edit'> = {
  namespace: 'mx',
  action: 'set',
  path: '',
  secret: false,
  account: '',
  id: ID,
  signal: new AbortController().signal,
  bytes: 0,
}

interface Options {
  readonly maxVersions?: number
  readonly maxValueBytes?: number
  readonly key?: string
  readonly wrap?: (store: Store) => Store
  readonly shared?: Store
}

function open(t: Test, { maxVersions = 20, maxValueBytes, key = KEY, wrap, shared }: Options = {}) {
  const limit = maxValueBytes === undefined ? {} : { maxValueBytes }
  const inner = shared ?? createStore(createMemoryStore(), limit)
  t.teardown(inner.close)
  const store = wrap?.(inner) ?? inner
  const snapshots = createSnapshots(store)
  const secretKey = parseSecretKey(key, 'key')
  const changes = createChanges({ store, snapshots, secretKey, nowMs: () => 5_999, maxVersions })
  t.teardown(changes.close)
  const make = (edit: Change['edit'], change: Partial<Change> = {}) =>
    changes.make({ ...BASE, ...change, edit })
  const set = (path: string, value: unknown, secret = false, change: Partial<Change> = {}) => {
    const { namespace = 'mx' } = change
    const names = splitConfigPath(path)
    const input = parseValue(JSON.stringify(value), names, ID)
    return make(
      ({ tree, head }) => {
        const sealer = createSealer({ namespace, secretKey, keyId: head?.keyId, id: ID })
        return setNode(tree, names, input, { secret, sealer, id: ID })
      },
      { path, secret, ...change },
    )
  }
  const json = async (version?: number): Promise<string> => {
    const { tree } =
      version === undefined
        ? await snapshots.read('mx')
        : await snapshots.readVersion('mx', version, ID)
    return formatTreeJson(tree)
  }
  const keys = async () => (await store.list(toTable('mx'))).records.map((record) => record.key)
  return { store: inner, snapshots, changes, make, set, json, keys, secretKey }
}

t.test('each change is a version with account, time and action', async (t) => {
  const { set, snapshots, json } = open(t)
  t.equal(await set('a', 1, false, { account: 'admin' }), 1)
  t.equal(await set('b', 2, true), 2)
  const { head } = await snapshots.read('mx')
  t.match(head!.versions, [
    { version: 1, timestamp: 5, account: 'admin', action: 'set', path: 'a', secret: false },
    { version: 2, timestamp: 5, account: '', action: 'set', path: 'b', secret: true },
  ])
  t.equal(await json(1), '{"a":1}')
  t.equal(await json(), '{"a":1,"b":"[secret]"}')
})

t.test('a change without effect creates no version', async (t) => {
  const { set, make, keys } = open(t)
  t.equal(await make(({ tree }) => ({ tree }), { action: 'delete' }), 0)
  t.strictSame(await keys(), [])
  t.equal(await set('', {}), 1, 'an empty map in an unused namespace is a version')
  t.equal(await set('', {}), 1)
  t.equal(await set('s', 'x', true), 2)
  t.equal(await set('s', 'x', true), 2)
  t.equal(await set('s', 'x'), 2)
})

t.test('retains only the last maxVersions versions', async (t) => {
  const { set, keys, snapshots } = open(t, { maxVersions: 3 })
  for (let i = 0; i < 10; i++) await set('a', i)
  t.strictSame(await keys(), [
    'before/0000000000000008',
    'before/0000000000000009',
    'now/head',
    'now/tree',
  ])
  t.equal((await snapshots.read('mx')).version, 10)
})

t.test('200 concurrent changes are all applied', async (t) => {
  const { set, json, snapshots } = open(t)
  await Promise.all(Array.from({ length: 200 }, (_, i) => set(`k${i}`, i)))
  t.equal(Object.keys(JSON.parse(await json())).length, 200)
  t.equal((await snapshots.read('mx')).version, 200)
})

t.test('a rejected change does not affect other changes of its commit', async (t) => {
  const { set, json, store } = open(t, { maxValueBytes: 2000 })
  let commits = 0
  const { commit } = store
  Object.assign(store, {
    commit(writes: Parameters<typeof commit>[0]) {
      commits++
      return commit(writes)
    },
  })
  const first = set('first', 0)
  const results = await Promise.allSettled([
    set('a', 1),
    set('b', 'x'.repeat(3000)),
    set('', 5),
    set('c', '[secret]'),
    set('d', 2),
    set('d', 2),
  ])
  t.equal(await first, 1)
  t.match(results, [
    { value: 2 },
    { reason: { code: 413 } },
    { reason: { code: 400 } },
    { reason: { code: 400 } },
    { value: 3 },
    { value: 3 },
  ])
  t.equal(await json(), '{"first":0,"a":1,"d":2}')
  t.equal(commits, 2)
})

t.test(
  'versions of one commit can be read and rolled back to, and are all encrypted',
  async (t) => {
    const { set, make, json, keys, store } = open(t, { maxVersions: 4 })
    const all = [set('first', 0), ...[1, 2, 3, 4, 5].map((i) => set('a', `hunter${i}`))]
    all.push(make(async (_before, readVersion) => ({ tree: (await readVersion(4))! })))
    all.push(set('a', 'hunter6', true))
    t.strictSame(await Promise.all(all), [1, 2, 3, 4, 5, 6, 7, 8])
    t.equal((await keys()).length, 6, 'head, key and four versions')
    for (const version of [5, 6, 7, 8]) t.equal(await json(version), '{"first":0,"a":"[secret]"}')
    t.notMatch(await dumpStore(store), /hunter/)
  },
)

t.test('a change is applied on top of a concurrent change by another server', async (t) => {
  const other = open(t)
  let races = 3
  const { set, json } = open(t, {
    shared: other.store,
    wrap: (store) => ({
      ...store,
      async commit(writes) {
        if (races-- > 0) await other.set(`other${races}`, races)
        return store.commit(writes)
      },
    }),
  })
  await set('a', 1)
  t.equal(await json(), '{"other2":2,"other1":1,"other0":0,"a":1}')
})

t.test('a change fails with 503 after 100 conflicts', async (t) => {
  const other = open(t)
  let commits = 0
  const { set } = open(t, {
    shared: other.store,
    wrap: (store) => ({
      ...store,
      async commit(writes) {
        await other.set('other', ++commits)
        return store.commit(writes)
      },
    }),
  })
  await t.rejects(set('a', 1), {
    id: ID,
    code: 503,
    message: 'the configuration of mx is being changed concurrently; try again',
  })
  t.equal(commits, 100)
})

t.test('a cancelled change is not applied', async (t) => {
  const { set, json } = open(t)
  const controller = new AbortController()
  const first = set('a', 1)
  const second = set('b', 2, false, { signal: controller.signal })
  controller.abort()
  await first
  await t.rejects(second, { id: ID, code: 408 })
  t.equal(await json(), '{"a":1}')
})

t.test('an error of the store is returned unchanged, and the next change is applied', async (t) => {
  let isUnavailable = true
  const { set } = open(t, {
    wrap: (store) => ({
      ...store,
      commit: (writes) =>
        isUnavailable ? Promise.reject(new Error('unavailable')) : store.commit(writes),
    }),
  })
  await t.rejects(set('a', 1), { message: 'unavailable' })
  isUnavailable = false
  t.equal(await set('a', 1), 1)
})

t.test('a value that becomes secret is also encrypted in earlier versions', async (t) => {
  const { set, make, json, store, keys } = open(t)
  await set('db', { password: 'hunter2', host: 'localhost' })
  await set('db.url', 'user:hunter2@localhost')
  await make(() => ({ tree: EMPTY }), { action: 'delete' })
  await set('db.password', 'hunter2', true)
  await set('db.url', 'user:hunter2@localhost', true)
  t.equal(await json(1), '{"db":{"password":"[secret]","host":"localhost"}}')
  t.equal(await json(2), '{"db":{"password":"[secret]","host":"localhost","url":"[secret]"}}')
  t.notMatch(await dumpStore(store), /hunter2/)
  t.equal((await keys()).length, 7, 'head, key and five versions')
})

t.test('a version that encryption makes too long is deleted', async (t) => {
  const { set, make, snapshots, keys } = open(t, { maxValueBytes: 2000 })
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, 'x']))
  await set('a', many)
  await make(() => ({ tree: EMPTY }), { action: 'delete' })
  await set('a', 'x', true)
  const { head } = await snapshots.read('mx')
  t.strictSame(
    head!.versions.map(({ version }) => version),
    [2, 3],
  )
  t.equal((await keys()).length, 4)
})

t.test(
  'the first secret records its key, and changes with another key fail with 503',
  async (t) => {
    const { set, store } = open(t)
    await set('a', 1)
    t.equal(await store.read(KEY_NOTE.table, KEY_NOTE.key), undefined)
    await set('b', 1, true, { namespace: 'foo' })
    t.ok(await store.read(KEY_NOTE.table, KEY_NOTE.key))
    const invalid = { id: ID, code: 503, message: /now encrypted with another key/ }
    const other = open(t, { shared: store, key: OTHER_KEY })
    await t.rejects(other.set('b', 2, false, { namespace: 'foo' }), invalid)
    await t.rejects(other.set('c', 1, true, { namespace: 'foo' }), invalid)
    await t.rejects(
      other.set('c', 1, true, { namespace: 'bar' }),
      invalid,
      'a namespace without secrets',
    )
    t.equal(await other.set('c', 1, false, { namespace: 'foo' }), 2, 'a plain value needs no key')
    t.equal(await set('b', 1, true, { namespace: 'foo' }), 2, 'the secret is unchanged')
  },
)

t.test('concurrent first secrets of 30 namespaces are all stored', async (t) => {
  const { set, snapshots } = open(t)
  const namespaces = Array.from({ length: 30 }, (_, i) => `n${i}`)
  await Promise.all(namespaces.map((namespace) => set('a', 1, true, { namespace })))
  for (const namespace of namespaces) t.equal((await snapshots.read(namespace)).version, 1)
})

t.test('a change sees the result of the previous change', async (t) => {
  const { set, make } = open(t)
  const trees: ConfigMap[] = []
  await Promise.all([
    set('a', 1),
    make(({ tree }) => {
      trees.push(tree)
      return { tree }
    }),
  ])
  t.equal(formatTreeJson(trees[0]!), '{"a":1}')
})
