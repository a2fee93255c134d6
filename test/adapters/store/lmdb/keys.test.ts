import t from 'tap'
import {
  ALL,
  fromExpiryKey,
  parseKey,
  toDatabaseBounds,
  toExpiryKey,
  toKey,
  toTableEnd,
} from '../../../../adapters/store/lmdb/keys.ts'

const TABLE = { database: 'mx', table: 'things' }
/** Maximum key length of LMDB with pages of 4096 bytes. */
const LONGEST = 1978

t.test('round-trips a key', (t) => {
  for (const key of ['a', '\u{1f600}', '\u0001', 'a/b']) {
    const keyBytes = toKey(TABLE, key)
    t.strictSame(parseKey(keyBytes), { table: TABLE, key })
    t.equal(fromExpiryKey(toExpiryKey(5, keyBytes)), keyBytes)
  }
  t.end()
})

/** Order by UTF-8 bytes, as in the file. */
const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

t.test('keeps records of a table and a database adjacent', (t) => {
  const inside = toKey(TABLE, '\u{10ffff}')
  t.equal(compare(inside, toTableEnd(TABLE)), -1)
  const next = toKey({ database: 'mx', table: 'things.' }, 'a')
  t.equal(compare(toTableEnd(TABLE), next), -1)
  const [from, to] = toDatabaseBounds('mx')
  t.equal(compare(from, toKey({ database: 'mx', table: '0' }, 'a')), -1)
  t.equal(compare(inside, to), -1)
  t.equal(compare(to, toKey({ database: 'mx-', table: '0' }, 'a')), -1)
  for (const name of ['0', 'Z', 'zz']) {
    t.equal(compare(ALL[0], toDatabaseBounds(name)[0]), -1)
    t.equal(compare(toDatabaseBounds(name)[1], ALL[1]), -1)
  }
  t.end()
})

t.test('sorts expiries by time', (t) => {
  const times = [1, 255, 256, 2 ** 32, 1.7e12, 8.64e15].map((ms) => toExpiryKey(ms, 'a'))
  t.strictSame(times.toSorted(Buffer.compare), times)
  t.end()
})

t.test('accepts names and keys of the maximum length', (t) => {
  const name = 'n'.repeat(253)
  const key = toKey({ database: name, table: name }, 'k'.repeat(1024))
  t.ok(toExpiryKey(8.64e15, key).length <= LONGEST)
  t.end()
})
