import fc from 'fast-check'
import t from 'tap'
import { CallTable } from '../../../../core/rpc/ws/call-table.ts'

t.test('random operations return the same results as a Map', async () => {
  const id = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 2 ** 31 - 1 }))
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), id), { maxLength: 1000 }), (steps) => {
      const table = new CallTable<number>()
      const map = new Map<number, number>()
      let value = 0
      for (const [add, id] of steps) {
        if (add && !map.has(id)) {
          map.set(id, ++value)
          table.add(id, value)
        } else if (!add && table.delete(id) !== map.delete(id)) throw new Error(`delete ${id}`)
        if (table.size !== map.size) throw new Error('size')
      }
      for (const [, id] of steps) if (table.get(id) !== map.get(id)) throw new Error(`get ${id}`)
      const sorted = [...map].sort(([a], [b]) => a - b).map(([, value]) => value)
      if (JSON.stringify(table.list()) !== JSON.stringify(sorted)) throw new Error('list')
    }),
  )
})

t.test('finds sequential ids and old ids among them', async (t) => {
  const table = new CallTable<number>()
  const retained = new Set<number>()
  for (let id = 1; id <= 200_000; id++) {
    table.add(id, id)
    if (id % 1000 === 0) retained.add(id)
    const old = id - 5000
    if (old > 0 && !retained.has(old)) table.delete(old)
  }
  t.equal(table.size, 5000 + 195)
  for (const id of retained) t.equal(table.get(id), id)
  for (let id = 195_001; id <= 200_000; id++) if (table.get(id) !== id) t.fail(`${id} is lost`)
  t.equal(table.list().length, table.size)
  for (const id of table.list()) table.delete(id)
  t.equal(table.size, 0)
  t.strictSame(table.list(), [])
})
