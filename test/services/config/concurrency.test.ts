// Concurrent changes of the configuration through servers without a connection to each other.
import t, { type Test } from 'tap'
import { createLmdbStore } from '../../../adapters/store/lmdb.ts'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { createPostgresStore } from '../../../adapters/store/postgres.ts'
import { createStore, type Store } from '../../../domain/store/store.ts'
import { changeSecretKey } from '../../../services/config/secrets/rotate-key.ts'
import { parseSecretKey } from '../../../services/config/secrets/secret-key.ts'
import { dumpStore, KEY, OTHER_KEY, openPlatformConfig } from '../../fixtures/platform-config.ts'
import { startPostgres } from '../../fixtures/postgres.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

/** Stores of two servers with the same records, or undefined if unavailable on this machine. */
type OpenStores = (t: Test) => Promise<readonly [Store, Store] | undefined>

const shareStore = (store: Store): readonly [Store, Store] => [store, store]

const STORES: Readonly<Record<string, OpenStores>> = {
  memory: async () => shareStore(createStore(createMemoryStore())),
  lmdb: async (t) =>
    shareStore(createStore(createLmdbStore({ folder: makeTempFolder(t, 'config') }))),
  async postgres(t) {
    const server = await startPostgres(t)
    if (server === undefined) return undefined
    const url = server.url()
    return [createStore(createPostgresStore({ url })), createStore(createPostgresStore({ url }))]
  },
}
const WRITERS = 10
const WRITES_PER_WRITER = 10

for (const [name, openStores] of Object.entries(STORES)) {
  t.test(`${name}: loses no change under concurrency`, async (t) => {
    const stores = await openStores(t)
    if (stores === undefined) return
    const servers = await Promise.all(stores.map((store) => openPlatformConfig(t, { store })))
    const write = async (writer: number): Promise<void> => {
      const { set, call } = servers[writer % 2]!
      for (let i = 0; i < WRITES_PER_WRITER; i++) {
        await set(`all.w${writer}.k${i}`, i, i % 3 === 0)
        if (i % 5 === 4) await call('Delete', { path: `all.w${writer}.k${i - 1}` })
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
    const remaining = Object.fromEntries(
      Array.from({ length: WRITES_PER_WRITER }, (_, i) => [`k${i}`, i] as const).filter(
        ([, i]) => i % 5 !== 3,
      ),
    )
    for (const { get, call } of servers) {
      const all = (await get('all', { secret: true })) as Record<string, unknown>
      t.equal(Object.keys(all).length, WRITERS)
      for (const [writer, values] of Object.entries(all)) t.strictSame(values, remaining, writer)
      const { version } = await call<{ version: number }>('Get')
      t.equal(
        version,
        WRITERS * (WRITES_PER_WRITER + WRITES_PER_WRITER / 5),
        'each change is one version',
      )
      const { versions } = await call<{ versions: { version: number }[] }>('History')
      t.strictSame(
        versions.map((entry) => entry.version),
        Array.from({ length: 20 }, (_, i) => version - i),
      )
    }
  })

  t.test(`${name}: a watcher of one server eventually sees changes of the other`, async (t) => {
    const stores = await openStores(t)
    if (stores === undefined) return
    const [one, two] = await Promise.all(stores.map((store) => openPlatformConfig(t, { store })))
    const events = one!.watch<{ value: { data: string } }>({ path: 'a' })
    t.match((await events.next()).value, { exists: false })
    await Promise.all(Array.from({ length: 20 }, (_, i) => two!.set('a.i', i)))
    await two!.set('a', 'last')
    for await (const { value } of events) if (value.data === '"last"') break
    t.equal(await one!.get('a'), 'last')
  })

  t.test(
    `${name}: rejects a secret from the second of two servers with different keys`,
    async (t) => {
      const stores = await openStores(t)
      if (stores === undefined) return
      const [one, two] = await Promise.all(
        stores.map((store, i) => openPlatformConfig(t, { store, key: i === 0 ? KEY : OTHER_KEY })),
      )
      const namespaces = Array.from({ length: 10 }, (_, i) => `n${i}`)
      const value = { path: 'a', value: { data: '"x"' }, options: { secret: true } }
      const setAll = ({ call }: typeof one & object) =>
        Promise.allSettled(namespaces.map((namespace) => call('Set', { ...value, namespace })))
      const results = [await setAll(one!), await setAll(two!)]
      t.strictSame(
        results.map((all) => all.filter(({ status }) => status === 'fulfilled').length),
        [10, 0],
      )
      t.notMatch(await dumpStore(stores[0]), new RegExp(parseSecretKey(OTHER_KEY, 'key').id))
    },
  )

  t.test(`${name}: loses no concurrent change during a key rotation`, async (t) => {
    const stores = await openStores(t)
    if (stores === undefined) return
    const { set } = await openPlatformConfig(t, { store: stores[0] })
    await set('secret', 'x', true)
    const acknowledged: string[] = []
    let hasEnded = false
    const writing = (async () => {
      for (let i = 0; !hasEnded; i++) {
        // The old server writes no secrets once the key has been rotated.
        await set(`plain.k${i}`, i).then(() => acknowledged.push(`k${i}`))
        await new Promise(setImmediate)
      }
    })()
    const oldKey = parseSecretKey(KEY, 'key')
    const newKey = parseSecretKey(OTHER_KEY, 'key')
    try {
      await changeSecretKey({ store: stores[1], from: oldKey, to: newKey })
    } finally {
      hasEnded = true
      await writing
    }
    const { get } = await openPlatformConfig(t, { store: stores[1], key: OTHER_KEY })
    t.equal(await get('secret', { secret: true }), 'x')
    const plain = (await get('plain')) as object
    t.strictSame(Object.keys(plain).sort(), acknowledged.sort())
    t.notMatch(await dumpStore(stores[1]), new RegExp(oldKey.id))
  })
}
