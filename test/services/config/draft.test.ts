import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { createStore } from '../../../domain/store/store.ts'
import { createDraft } from '../../../services/config/draft.ts'
import { HEAD, parseHead, toPatchKey, toTable } from '../../../services/config/records.ts'
import { parseSecretKey } from '../../../services/config/secrets/secret-key.ts'
import { createSnapshots } from '../../../services/config/snapshots.ts'
import { formatTreeJson, parseStored } from '../../../services/config/tree/tree-text.ts'
import { KEY, OTHER_KEY } from '../../fixtures/platform-config.ts'

const TABLE = toTable('mx')
const ABOUT = { action: 'set', path: 'a', secret: false, account: 'admin', id: 'id' } as const

function open(t: Test, { maxVersions = 3, maxValueBytes = 1000, key = KEY } = {}) {
  const store = createStore(createMemoryStore(), { maxValueBytes })
  t.teardown(store.close)
  const snapshots = createSnapshots(store)
  const secretKey = parseSecretKey(key, 'key')
  const options = { store, namespace: 'mx', secretKey, nowMs: () => 7_000, maxVersions }
  const begin = async (other: Partial<typeof options> = {}) =>
    createDraft(await snapshots.read('mx'), { ...options, ...other })
  const keys = async () => (await store.list(TABLE)).records.map((record) => record.key)
  return { store, begin, keys }
}

const plain = (text: string) => ({ ...ABOUT, tree: parseStored(`{"a":"${text}"}`) })
const key = (version: number) => toPatchKey({ version })

t.test('adds versions equal to stored ones', async (t) => {
  const { store, begin, keys } = open(t)
  const draft = await begin()
  t.strictSame(draft.writes(), [])
  t.match(draft.now(), { version: 0 })
  await draft.add(plain('1'))
  await draft.add(plain('2'))
  t.match(draft.now(), {
    version: 2,
    headVersion: 0,
    head: { versions: [{ version: 1 }, { version: 2 }] },
  })
  t.equal(formatTreeJson(draft.now().tree), '{"a":2}')
  t.equal(formatTreeJson((await draft.readVersion(1))!), '{"a":1}')
  t.equal(await draft.readVersion(3), undefined)
  t.strictSame(await keys(), [])
  await store.commit(draft.writes())
  t.strictSame(await keys(), [key(1), 'now/head', 'now/tree'])
  const head = parseHead((await store.read(TABLE, HEAD))!)
  const expectedInfo = { timestamp: 7, account: 'admin', action: 'set', path: 'a', secret: false }
  t.match(head, {
    versions: [
      { version: 1, ...expectedInfo },
      { version: 2, ...expectedInfo },
    ],
  })
  t.ok(draft.bytes() > 0)
})

t.test('deletes or never writes versions beyond the limit', async (t) => {
  const { store, begin, keys } = open(t)
  const first = await begin()
  for (const text of ['1', '2', '3']) await first.add(plain(text))
  await store.commit(first.writes())
  const second = await begin()
  await second.add(plain('4'))
  await store.commit(second.writes())
  t.strictSame(await keys(), [key(2), key(3), 'now/head', 'now/tree'])
  const third = await begin()
  for (const text of ['5', '6', '7', '8', '9']) await third.add(plain(text))
  const written = third.writes().map((write) => `${write.value ? '+' : '-'}${write.key}`)
  t.strictSame(written, [
    '+now/head',
    '+now/tree',
    `+${key(7)}`,
    `+${key(8)}`,
    `-${key(2)}`,
    `-${key(3)}`,
  ])
  t.equal(formatTreeJson((await third.readVersion(7))!), '{"a":7}')
  t.equal(await third.readVersion(6), undefined)
})

t.test('stores only the tree with a limit of one version', async (t) => {
  const { store, begin, keys } = open(t, { maxVersions: 1 })
  for (const text of ['1', '2', '3']) {
    const draft = await begin()
    await draft.add(plain(text))
    await draft.add(plain(`${text}0`))
    await store.commit(draft.writes())
    t.strictSame(await keys(), ['now/head', 'now/tree'])
  }
  t.match((await begin()).now(), { version: 6, head: { versions: [{ version: 6 }] } })
})

t.test('drops a version whose patch is too long, and earlier versions', async (t) => {
  const { store, begin, keys } = open(t, { maxValueBytes: 400 })
  const names = Array.from({ length: 15 }, (_, i) => `k${i}`)
  const tree = parseStored(
    JSON.stringify({ m: Object.fromEntries(names.map((name) => [name, 'x'.repeat(10)])) }),
  )
  const draft = await begin()
  await draft.add(plain('1'))
  await draft.add({ ...ABOUT, tree })
  const other = parseStored(
    JSON.stringify({ m: Object.fromEntries(names.map((name) => [`x${name}`, 'x'])) }),
  )
  await draft.add({ ...ABOUT, tree: other })
  await store.commit(draft.writes())
  t.strictSame(await keys(), ['now/head', 'now/tree'])
  t.match((await begin()).now(), { version: 3, head: { versions: [{ version: 3 }] } })
})

t.test('rejects a tree that is too long and leaves the draft unchanged', async (t) => {
  const { begin } = open(t)
  const draft = await begin()
  await draft.add(plain('1'))
  const before = JSON.stringify(draft.writes())
  await t.rejects(draft.add(plain('x'.repeat(1000))), {
    id: 'id',
    code: 413,
    message: 'the configuration of mx exceeds the limit of 1000 bytes, got 1008',
  })
  t.equal(JSON.stringify(draft.writes()), before)
})

t.test('encrypts values that become secret in stored and pending versions', async (t) => {
  const { store, begin, keys } = open(t)
  const first = await begin()
  await first.add(plain('\\"one\\"'))
  await store.commit(first.writes())
  const draft = await begin()
  await draft.add(plain('\\"two\\"'))
  const tree = parseStored('{"a":["sealed"]}')
  await draft.add({ ...ABOUT, secret: true, tree, newlySecret: [['a']] })
  await store.commit(draft.writes())
  const { id: keyId } = parseSecretKey(KEY, 'key')
  const sealed = [1, 2].map((version) => toPatchKey({ version, keyId }))
  t.strictSame(await keys(), [...sealed, 'key', 'now/head', `now/tree/${keyId}`])
  for (const version of [1, 2, 3])
    t.equal(formatTreeJson((await (await begin()).readVersion(version))!), '{"a":"[secret]"}')
})

t.test('rejects the first secret if the store uses another key', async (t) => {
  const { store, begin } = open(t)
  const secret = { ...ABOUT, tree: parseStored('{"a":["sealed"]}'), newlySecret: [['a']] }
  const first = await begin()
  await first.add(secret)
  await store.commit(first.writes())
  const other = createDraft(
    { headVersion: 0, head: undefined, version: 0, tree: new Map() },
    {
      store,
      namespace: 'foo',
      secretKey: parseSecretKey(OTHER_KEY, 'key'),
      nowMs: () => 0,
      maxVersions: 3,
    },
  )
  await t.rejects(other.add(secret), { id: 'id', code: 503 })
  t.strictSame(other.writes(), [])
})

t.test('returns 409 for a version that is changing concurrently', async (t) => {
  const { store, begin } = open(t)
  const first = await begin()
  await first.add(plain('1'))
  await first.add(plain('2'))
  await store.commit(first.writes())
  const draft = await begin()
  await store.commit([{ table: TABLE, key: key(1) }])
  await t.rejects(draft.readVersion(1), {
    code: 409,
    message: 'version 1 of mx is being changed; try again',
  })
})
