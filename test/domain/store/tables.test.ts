import t from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { listDatabases, listTables } from '../../../domain/store/tables.ts'

const VALUE = Buffer.from('a')

/** A store of `databases` with `tables` each; records the requested limits. */
async function open(databases: number, tables: number) {
  const adapter = createMemoryStore()
  const all = Array.from({ length: databases * tables }, (_, i) => ({
    database: `d${String(Math.floor(i / tables)).padStart(4, '0')}`,
    table: `t${String(i % tables).padStart(4, '0')}`,
  }))
  const write = { key: 'a', value: VALUE, metadata: {}, expiresMs: 0, ifVersion: undefined }
  await adapter.commit(
    all.map((table) => [{ ...write, table }]),
    0,
  )
  const requests: number[] = []
  const counting: typeof adapter = {
    ...adapter,
    listTables(range) {
      requests.push(range.limit)
      return adapter.listTables(range)
    },
  }
  return { adapter: counting, all, requests }
}

t.test('lists tables in order, all or a page', async (t) => {
  const { adapter, all } = await open(3, 150)
  t.strictSame(await listTables(adapter, {}), all)
  t.strictSame(await listTables(adapter, { database: 'd0001' }), all.slice(150, 300))
  t.strictSame(await listTables(adapter, { limit: 7 }), all.slice(0, 7))
  t.strictSame(await listTables(adapter, { limit: 120, after: all[6]! }), all.slice(7, 127))
  t.strictSame(await listTables(adapter, { database: 'none' }), [])
})

t.test('lists databases in order with one lookup per database', async (t) => {
  const { adapter, requests } = await open(205, 10)
  const names = Array.from({ length: 205 }, (_, i) => `d${String(i).padStart(4, '0')}`)
  t.strictSame(await listDatabases(adapter, {}), names)
  t.strictSame([...new Set(requests)], [1])
  t.equal(requests.length, 206)
  t.strictSame(await listDatabases(adapter, { limit: 2, after: 'd0100' }), ['d0101', 'd0102'])
})

t.test('yields to the event loop and stops when the caller aborts', async (t) => {
  const { adapter, requests } = await open(1, 1000)
  const controller = new AbortController()
  setImmediate(() => controller.abort(new Error('left')))
  await t.rejects(listTables(adapter, {}, controller.signal), { message: 'left' })
  t.ok(requests.length <= 3, `${requests.length} requests`)
  t.ok(requests.every((limit) => limit <= 100))
  const aborted = AbortSignal.abort(new Error('gone'))
  await t.rejects(listDatabases(adapter, {}, aborted), { message: 'gone' })
})
