import t from 'tap'
import { toKnown, toRecord, toTable } from '../../../../adapters/store/postgres/rows.ts'

t.test('a record is made of what PostgreSQL writes', async (t) => {
  const { value, ...rest } = toRecord(['a', '8640000000000000', '7', '\\x00ff', '{"b":"c"}'])
  t.same(rest, { key: 'a', metadata: { b: 'c' }, expiresMs: 8.64e15, version: 7 })
  t.same([...value], [0, 255])
})

t.test('a record without value and metadata has empty ones', async (t) => {
  t.same(toRecord(['a', '0', '7']), {
    key: 'a',
    value: new Uint8Array(0),
    metadata: {},
    expiresMs: 0,
    version: 7,
  })
})

t.test('metadata may have names that mean something to JavaScript', async (t) => {
  const { metadata } = toRecord(['a', '0', '7', '\\x', '{"__proto__":"b"}'])
  t.same(Object.entries(metadata), [['__proto__', 'b']])
  t.equal(Object.getPrototypeOf(metadata), Object.prototype)
})

t.test('numbers and names are read', async (t) => {
  t.same(toKnown('5', '6'), { expiresMs: 5, version: 6 })
  t.same(toTable(['a', 'b']), { database: 'a', table: 'b' })
})
