import t from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import type { RecordInput } from '../../../sdk/store/store-record.ts'
import { createStoreWrites } from '../../../sdk/store/store-writes.ts'

const record = (key: string, value = ''): RecordInput => ({ key, value })

/** Writes whose calls fail for keys that are status codes; versions increase. */
function open() {
  const calls: string[][] = []
  let version = 0
  const { write, flush } = createStoreWrites(async (records) => {
    const keys = records.map(({ key }) => key)
    calls.push(keys)
    for (const code of [400, 413, 503])
      if (keys.includes(String(code))) throw new GatewayError('store', code, `it is ${code}`)
    return keys.map(() => ++version)
  }, queueMicrotask)
  const all = (...records: readonly RecordInput[]) => Promise.allSettled(records.map(write))
  return { calls, write, flush, all }
}

t.test('writes of one tick are sent in one call, and each returns its version', async (t) => {
  const { calls, all, write } = open()
  const outcomes = await all(record('a'), record('b'), record('c'))
  t.match(outcomes, [{ value: 1 }, { value: 2 }, { value: 3 }])
  t.equal(await write(record('d')), 4)
  t.strictSame(calls, [['a', 'b', 'c'], ['d']])
})

t.test('a call contains each key once, and the order is preserved', async (t) => {
  const { calls, all } = open()
  const outcomes = await all(record('a'), record('b'), record('a'), record('c'))
  t.match(outcomes, [{ value: 1 }, { value: 2 }, { value: 3 }, { value: 4 }])
  t.strictSame(calls, [
    ['a', 'b'],
    ['a', 'c'],
  ])
})

t.test(
  'a call is limited in records and bytes, and a long record is sent in a separate call',
  async (t) => {
    const { calls, all } = open()
    await all(...Array.from({ length: 1100 }, (_, i) => record(`k${i}`)))
    t.strictSame(
      calls.map(({ length }) => length),
      [500, 500, 100],
    )
    const part = 'v'.repeat(64 * 1024)
    await all(...Array.from({ length: 17 }, (_, i) => record(`p${i}`, part)))
    t.strictSame(
      calls.slice(3).map(({ length }) => length),
      [16, 1],
    )
    await all(record('a'), record('b', `${part}v`), record('c'), record('d'))
    t.strictSame(calls.slice(5), [['a'], ['b'], ['c', 'd']])
  },
)

t.test('an invalid key is sent in a separate call, and the order is preserved', async (t) => {
  const { calls, all } = open()
  await all(record('a'), record(''), record('k'.repeat(1025)), record('a'), record('b'))
  t.strictSame(calls, [['a'], [''], ['k'.repeat(1025)], ['a', 'b']])
})

t.test('after a 400 or 413, each record is written separately', async (t) => {
  for (const code of [400, 413]) {
    const { calls, all } = open()
    const outcomes = await all(record('a'), record(`${code}`), record('b'))
    t.match(outcomes, [{ value: 1 }, { reason: { code } }, { value: 2 }])
    t.strictSame(calls, [['a', `${code}`, 'b'], ['a'], [`${code}`], ['b']])
    t.match(await all(record(`${code}`)), [{ reason: { code } }])
    t.equal(calls.length, 5, 'a single record is not repeated')
  }
})

t.test('any other failure rejects all records of the call', async (t) => {
  const { calls, all } = open()
  const outcomes = await all(record('a'), record('503'))
  t.match(outcomes, [{ reason: { code: 503 } }, { reason: { code: 503 } }])
  t.equal(calls.length, 1)
})

t.test('flush starts pending writes before another call', async (t) => {
  const { calls, write, flush } = open()
  flush()
  const a = write(record('a'))
  flush()
  t.strictSame(calls, [['a']])
  const others = [write(record('a')), write(record('b'))]
  t.strictSame(calls, [['a']])
  t.strictSame(await Promise.all([a, ...others]), [1, 2, 3])
  t.strictSame(calls, [['a'], ['a', 'b']])
})
