import t from 'tap'
import {
  fromExpiryKey,
  parseKey,
  parseOwnKey,
  toDatabaseBounds,
  toExpiryKey,
  toKey,
  toTableEnd,
} from '../../../../adapters/store/lmdb/keys.ts'

const TABLE = { database: 'mx', table: 'things' }
/** What LMDB takes at most, with pages of 4096 bytes. */
const LONGEST = 1978

t.test('a place is read as it was written', (t) => {
  for (const key of ['a', '\u{1f600}', '\u0001', 'a/b']) {
    const bytes = toKey(TABLE, key)
    t.strictSame(parseKey(bytes), { table: TABLE, key })
    t.equal(parseOwnKey(bytes, toKey(TABLE, '')), key)
    t.strictSame(fromExpiryKey(toExpiryKey(5, bytes)), bytes)
  }
  t.end()
})

t.test('records of a table, and of a database, are neighbours', (t) => {
  const inside = toKey(TABLE, '\u{10ffff}')
  t.equal(Buffer.compare(inside, toTableEnd(TABLE)), -1)
  const next = toKey({ database: 'mx', table: 'things.' }, 'a')
  t.equal(Buffer.compare(toTableEnd(TABLE), next), -1)
  const [from, to] = toDatabaseBounds('mx')
  t.equal(Buffer.compare(from, toKey({ database: 'mx', table: '0' }, 'a')), -1)
  t.equal(Buffer.compare(inside, to), -1)
  t.equal(Buffer.compare(to, toKey({ database: 'mx-', table: '0' }, 'a')), -1)
  t.end()
})

t.test('what expires later is behind', (t) => {
  const times = [1, 255, 256, 2 ** 32, 1.7e12, 8.64e15].map((ms) =>
    toExpiryKey(ms, Buffer.from('a')),
  )
  t.strictSame(times.toSorted(Buffer.compare), times)
  t.end()
})

t.test('the longest names and key fit', (t) => {
  const name = 'n'.repeat(253)
  const key = toKey({ database: name, table: name }, 'k'.repeat(1024))
  t.ok(toExpiryKey(8.64e15, key).length <= LONGEST)
  t.end()
})
