import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { createLmdbStore } from '../../adapters/store/lmdb.ts'
import { createStore, type Store } from '../../domain/store/store.ts'
import { LOADER, toModule } from '../fixtures/programs.ts'
import { mountSmallDisk, withoutNative } from '../fixtures/small-disk.ts'

const TABLE = { database: 'mx', table: 'things' }

async function write(store: Store, i: number): Promise<boolean> {
  const key = String(i)
  const value = Buffer.alloc(1 + ((i * 7919) % 9000), i)
  try {
    await store.commit([
      { table: TABLE, key, value },
      { table: { database: 'mx', table: 'pairs' }, key, value, expiresMs: 8e15 },
    ])
    return true
  } catch (error) {
    t.match(error, { code: 507, id: 'store', message: 'the store is full: nothing was written' })
    return false
  }
}

async function count(store: Store): Promise<number> {
  let sum = 0
  for (const table of [TABLE, { database: 'mx', table: 'pairs' }]) {
    let after: string | undefined
    do {
      const page = await store.list(table, after === undefined ? {} : { after })
      for (const { key, value } of page.records) {
        const i = Number(key)
        if (!Buffer.from(value).equals(Buffer.alloc(1 + ((i * 7919) % 9000), i)))
          throw new Error(`${key} is torn`)
        sum++
      }
      after = page.next
    } while (after !== undefined)
  }
  return sum
}

for (const sync of ['os', 'always'] as const) {
  t.test(
    `${sync}: on a full disk writes fail with 507, reads continue, and no record is lost or partial`,
    async (t) => {
      const disk = mountSmallDisk(t, 8)
      if (disk === undefined) return
      const folder = `${disk.folder}/store`
      const messages: string[] = []
      const onWarning = (message: string) => messages.push(message)
      const store = createStore(createLmdbStore({ folder, sync, onWarning }))
      t.teardown(store.close)
      let written = 0
      while (await write(store, written)) written++
      t.ok(written > 100, `${written} were written`)
      for (let i = 0; i < 20; i++) t.notOk(await write(store, written))
      t.equal(await count(store), 2 * written, 'exactly the acknowledged records exist')
      t.ok(await store.read(TABLE, '0'))
      t.equal(await store.read(TABLE, String(written)), undefined)

      disk.resize(48)
      t.ok(await write(store, written++), 'writes work once there is space')
      t.match(messages, [/^the store is full: /, /^the store is writable again after \d+ s: /])
      t.equal(messages.length, 2)
      disk.resize(16)
      while (await write(store, written)) written++
      await store.close()
      disk.resize(32)
      const reopened = createStore(createLmdbStore({ folder, sync }))
      t.teardown(reopened.close)
      t.equal(await count(reopened), 2 * written)
      t.ok(await write(reopened, written))
    },
  )
}

t.test(
  'on a disk filled by a tenant, operators can act and the tenant can free space',
  async (t) => {
    const disk = mountSmallDisk(t, 16)
    if (disk === undefined) return
    const folder = `${disk.folder}/store`
    const store = createStore(createLmdbStore({ folder, onWarning: () => {} }))
    t.teardown(store.close)
    const table = { database: 'tb', table: 'a' }
    const value = Buffer.alloc(20_000)
    let count = 0
    const fill = async (): Promise<void> => {
      for (;;) await store.commit([{ table, key: String(count++), value }])
    }
    await t.rejects(fill(), { code: 507 })
    await t.rejects(fill(), { code: 507 })
    for (let i = 0; i < 100; i++)
      await store.commit([
        { table: { database: 'mx', table: 'auth' }, key: `rule/${i}`, value: Buffer.alloc(200) },
      ])
    for (let i = 0; i < 100; i++) await store.commit([{ table, key: String(i) }])
    await store.commit([{ table, key: 'within the limit', value }])
  },
)

t.test('a full disk does not end the process, and is logged once', async (t) => {
  const disk = mountSmallDisk(t, 4)
  if (disk === undefined) return
  const toUrl = (path: string) => JSON.stringify(toModule(new URL(path, import.meta.url)))
  const program = `
    import { createLmdbStore } from ${toUrl('../../adapters/store/lmdb.ts')}
    import { createStore } from ${toUrl('../../domain/store/store.ts')}
    const store = createStore(createLmdbStore({ folder: ${JSON.stringify(disk.folder)}, onWarning: console.log }))
    const codes = new Set()
    for (let i = 0; i < 100; i++)
      await Promise.all(Array.from({ length: 20 }, (_, n) => store
        .commit([{ table: { database: 'a', table: 'b' }, key: i + '/' + n, value: new Uint8Array(4000) }])
        .catch((error) => codes.add(error.code))))
    await store.close()
    console.log([...codes].join())
  `
  const args = [...LOADER, '--input-type=module', '-e', program]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = await once(child, 'close')
  const line = `the store is full: no space left in ${disk.folder}; writes are rejected until space is free`
  t.strictSame([code, withoutNative(output)], [0, `${line}\n507\n`])
})
