import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import { createStore, type Store } from '../../../../domain/store/store.ts'
import { HEAD, toTable } from '../../../../services/config/records.ts'
import {
  changeSecretKey,
  readKeyNote,
  tidy,
} from '../../../../services/config/secrets/rotate-key.ts'
import { parseSecretKey } from '../../../../services/config/secrets/secret-key.ts'
import { createSnapshots } from '../../../../services/config/snapshots.ts'
import { formatTreeJson } from '../../../../services/config/tree/tree-text.ts'
import { dumpStore, KEY, OTHER_KEY, openPlatformConfig } from '../../../fixtures/platform-config.ts'

const oldKey = parseSecretKey(KEY, 'key')
const newKey = parseSecretKey(OTHER_KEY, 'key')

/** A store with secrets in current and earlier versions of two namespaces, and a namespace without secrets. */
async function open(t: Test) {
  const store = createStore(createMemoryStore())
  const { call, set } = await openPlatformConfig(t, { store })
  await set('plain', 1)
  await set('db', { password: 'one', list: [1] }, true)
  await set('db.password', 'two')
  await call('Delete', { path: 'db.list' })
  const data = { path: 'x', value: { data: '"three"' } }
  await call('Set', { ...data, namespace: 'foo', options: { secret: true } })
  await call('Set', { ...data, namespace: 'bar' })
  return { store, set, call }
}

/** Contents of every version of every namespace, with secrets. */
async function readAll(store: Store, key = newKey): Promise<string[]> {
  const all: string[] = []
  for (const namespace of ['bar', 'foo', 'mx']) {
    const snapshots = createSnapshots(store)
    const snapshot = await snapshots.read(namespace)
    for (const { version } of snapshot.head!.versions) {
      const { tree } = await snapshots.readVersion(namespace, version, '')
      const open = ({ names, leaf }: { names: readonly string[]; leaf: { text: string } }) =>
        key.open(namespace, names.join('.'), leaf.text) ?? 'LOST'
      all.push(`${namespace} ${version} ${formatTreeJson(tree, [], open)}`)
    }
  }
  return all
}

const ALL = [
  'bar 1 {"x":"three"}',
  'foo 1 {"x":"three"}',
  'mx 1 {"plain":1}',
  'mx 2 {"plain":1,"db":{"password":"one","list":[1]}}',
  'mx 3 {"plain":1,"db":{"password":"two","list":[1]}}',
  'mx 4 {"plain":1,"db":{"password":"two"}}',
]

/** The store, which fails or runs a function before the commit with this number. */
function atCommit(store: Store, number: number, action: () => Promise<void>): Store {
  let count = 0
  return {
    ...store,
    async commit(writes) {
      if (++count === number) await action()
      return store.commit(writes)
    },
  }
}

const fail = async () => {
  throw new Error('commit failed')
}

t.test(
  're-encrypts all secrets of all versions and leaves no data encrypted with the old key',
  async (t) => {
    const { store } = await open(t)
    t.strictSame(await readAll(store, oldKey), ALL)
    await changeSecretKey({ store, from: oldKey, to: newKey })
    t.strictSame(await readAll(store), ALL)
    const dump = await dumpStore(store)
    t.notMatch(dump, new RegExp(oldKey.id))
    t.match(await readKeyNote(store), { keyId: newKey.id, untidy: false })
    await changeSecretKey({ store, from: oldKey, to: newKey })
    t.equal(await dumpStore(store), dump, 'a repetition has no effect')
  },
)

t.test('leaves one consistent key after an interruption at any point', async (t) => {
  let count = 0
  const { store: first } = await open(t)
  await changeSecretKey({
    store: atCommit(first, Number.POSITIVE_INFINITY, fail),
    from: oldKey,
    to: newKey,
  })
  for (let isDone = false; !isDone; ) {
    const { store } = await open(t)
    count++
    isDone = await changeSecretKey({
      store: atCommit(store, count, fail),
      from: oldKey,
      to: newKey,
    }).then(
      () => true,
      () => false,
    )
    const note = (await readKeyNote(store))!
    const key = note.keyId === newKey.id ? newKey : oldKey
    t.strictSame(await readAll(store, key), ALL, `interrupted at commit ${count}`)
    await tidy(store)
    const other = key === newKey ? oldKey : newKey
    t.notMatch(await dumpStore(store), new RegExp(other.id), 'leftovers are deleted')
    await changeSecretKey({ store, from: oldKey, to: newKey })
    t.strictSame(await readAll(store), ALL)
  }
  t.ok(count > 8, `${count} commits`)
})

t.test('loses no concurrent change', async (t) => {
  // The fourth commit replaces the heads. Afterwards, the service with the old key writes no secrets.
  for (let at = 1; at <= 4; at++) {
    const { store, call } = await open(t)
    const value = { data: '"new"' }
    const options = { secret: true }
    const change = async () => {
      await call('Set', { path: 'k', value, options })
      await call('Set', { namespace: 'bar', path: 'y', value, options })
    }
    await changeSecretKey({ store: atCommit(store, at, change), from: oldKey, to: newKey })
    t.strictSame(
      await readAll(store),
      [
        ALL[0],
        'bar 2 {"x":"three","y":"new"}',
        ...ALL.slice(1),
        'mx 5 {"plain":1,"db":{"password":"two"},"k":"new"}',
      ],
      `at commit ${at}`,
    )
    t.notMatch(await dumpStore(store), new RegExp(oldKey.id))
    await t.rejects(change(), { code: 503, message: /now encrypted with another key/ })
  }
})

t.test('does not delete records of a rotation in progress', async (t) => {
  for (let at = 1; at < 9; at++) {
    const { store } = await open(t)
    await changeSecretKey({ store: atCommit(store, 3, fail), from: oldKey, to: newKey }).catch(
      () => {},
    )
    await changeSecretKey({
      store: atCommit(store, at, () => tidy(store)),
      from: oldKey,
      to: newKey,
    })
    t.strictSame(await readAll(store), ALL, `cleaned up at commit ${at}`)
  }
  for (let at = 1; at < 4; at++) {
    const { store } = await open(t)
    await changeSecretKey({ store: atCommit(store, 3, fail), from: oldKey, to: newKey }).catch(
      () => {},
    )
    await tidy(atCommit(store, at, () => changeSecretKey({ store, from: oldKey, to: newKey })))
    t.strictSame(await readAll(store), ALL, `changed at commit ${at} of the cleanup`)
  }
})

t.test('does nothing with a wrong key', async (t) => {
  const { store } = await open(t)
  const before = await dumpStore(store)
  const invalid = parseSecretKey(Buffer.alloc(32, 3).toString('base64'), 'key')
  await t.rejects(changeSecretKey({ store, from: invalid, to: newKey }), {
    message: 'the secrets of the configuration are not encrypted with the previous key',
  })
  t.equal(await dumpStore(store), before)
})

t.test('reports a secret that cannot be decrypted and retains the key', async (t) => {
  const { store } = await open(t)
  const table = toTable('foo')
  const [version] = (await store.list(table, { prefix: 'now/tree' })).records
  const text = Buffer.from(version!.value).toString().replace('"x"', '"y"')
  await store.commit([{ table, key: version!.key, value: Buffer.from(text) }])
  await t.rejects(changeSecretKey({ store, from: oldKey, to: newKey }), {
    message: 'the secret y of foo cannot be decrypted: it was modified or belongs to another path',
  })
  t.match(await readKeyNote(store), { keyId: oldKey.id })
  t.strictSame((await readAll(store, oldKey)).slice(2), ALL.slice(2))
})

t.test('gives up while heads change continuously', async (t) => {
  const { store } = await open(t)
  const table = toTable('foo')
  const busy: Store = {
    ...store,
    async commit(writes) {
      const head = (await store.read(table, HEAD))!
      await store.commit([{ table, key: HEAD, value: head.value }])
      return store.commit(writes)
    },
  }
  await t.rejects(changeSecretKey({ store: busy, from: oldKey, to: newKey, timeoutMs: 200 }), {
    message: 'the configuration is being changed concurrently; its secret key could not be rotated',
  })
  t.strictSame(await readAll(store, oldKey), ALL)
})

t.test('does nothing without secrets', async (t) => {
  const store = createStore(createMemoryStore())
  const { set } = await openPlatformConfig(t, { store })
  await set('a', 1)
  const before = await dumpStore(store)
  await changeSecretKey({ store, from: oldKey, to: newKey })
  await tidy(store)
  t.equal(await dumpStore(store), before)
})
