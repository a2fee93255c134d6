import t from 'tap'
import { openEnvironment } from '../../../domain/lmdb/environment.ts'
import { textKeys } from '../../../domain/lmdb/text-keys.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const { readKey, writeKey } = textKeys

t.test('writes a key at an offset and reads it from there', (t) => {
  const target = Buffer.alloc(64)
  for (const key of ['a', 'h\u00e4user', '\u{1f600}\0\u0001']) {
    const end = writeKey(key, target, 5)
    t.equal(end, 5 + Buffer.byteLength(key))
    t.equal(readKey(target, 5, end), key)
  }
  t.end()
})

t.test('writes a key that fits exactly and never truncates one', (t) => {
  const target = Buffer.alloc(8)
  t.equal(writeKey('abcdefgh', target, 0), 8)
  t.equal(writeKey('\u00e4\u00e4\u00e4', target, 2), 8)
  for (const [key, start] of [
    ['abcdefghi', 0],
    ['\u00e4\u00e4\u00e4', 3],
  ] as const)
    t.throws(() => writeKey(key, target, start), { name: 'RangeError' })
  t.end()
})

t.test('finds keys of any length in byte order', async (t) => {
  const folder = makeTempFolder(t, 'text-keys')
  const { openTextTable, transact, close } = openEnvironment(folder, {
    what: 'the store',
    isFlushed: false,
  })
  t.teardown(close)
  const records = openTextTable('records')
  const keys = Array.from(
    { length: 300 },
    (_, i) => `${'\u00e4'.repeat(i % 100)}x${'k'.repeat(5 * i)}`,
  )
  await transact(() => {
    for (const key of keys) void records.put(key, Buffer.from(String(key.length)))
  })
  for (const key of keys) t.equal(records.getBinary(key)!.toString(), String(key.length))
  const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  // Range bounds use a buffer of lmdb-js that fills up regularly.
  for (const [index, key] of sorted.entries()) {
    const [result] = records.getKeys({ start: key, end: '\u{10ffff}', limit: 1 })
    t.equal(result, key)
    const following = [...records.getKeys({ start: '\u0001', end: key })]
    t.equal(following.length, index)
  }
})
