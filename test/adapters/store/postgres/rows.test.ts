import t from 'tap'
import { toRecord, toStoredVersion, toTable } from '../../../../adapters/store/postgres/rows.ts'

t.test('converts a row to a record', async (t) => {
  const { value, ...rest } = toRecord(['a', '8640000000000000', '7', '\\x00ff', '{"b":"c"}'])
  t.same(rest, { key: 'a', metadata: { b: 'c' }, expiresMs: 8.64e15, version: 7 })
  t.same([...value], [0, 255])
})

t.test('defaults a missing value and metadata', async (t) => {
  t.same(toRecord(['a', '0', '7']), {
    key: 'a',
    value: new Uint8Array(0),
    metadata: {},
    expiresMs: 0,
    version: 7,
  })
})

t.test('accepts metadata names such as __proto__', async (t) => {
  const { metadata } = toRecord(['a', '0', '7', '\\x', '{"__proto__":"b"}'])
  t.same(Object.entries(metadata), [['__proto__', 'b']])
  t.equal(Object.getPrototypeOf(metadata), Object.prototype)
})

t.test('converts versions and tables', async (t) => {
  t.same(toStoredVersion('5', '6'), { expiresMs: 5, version: 6 })
  t.same(toTable(['a', 'b']), { database: 'a', table: 'b' })
})
