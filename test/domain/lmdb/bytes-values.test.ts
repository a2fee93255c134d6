import t from 'tap'
import { bytesValues } from '../../../domain/lmdb/bytes-values.ts'
import { openEnvironment } from '../../../domain/lmdb/environment.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('returns a separate buffer with the exact length', async (t) => {
  const bytes = Buffer.from('value, and the bytes before it')
  const value = bytesValues.decode(bytes, 5)
  bytes.fill(0)
  t.equal(value.toString(), 'value')
  t.equal(bytesValues.decode(Buffer.alloc(0)).length, 0)
  t.equal(bytesValues.encode(value), value)
})

t.test('reads back values of all lengths, which stay unchanged', async (t) => {
  const folder = makeTempFolder(t, 'bytes-values')
  const { openTable, transact, close } = openEnvironment(folder, { what: 'it', isFlushed: false })
  t.teardown(close)
  const table = openTable('values')
  const lengths = [0, 1, 63, 64, 4000, 5000, 32_768, 100_000, 3_000_000]
  const toValue = (length: number): Buffer => Buffer.alloc(length, `${length}.`)
  await transact(() => {
    for (const [n, length] of lengths.entries()) void table.put(Buffer.from([n]), toValue(length))
  })
  const ranged = [...table.getRange({})].map(({ value }) => value)
  const read = lengths.map((_, n) => table.get(Buffer.from([n])))
  await transact(() => {
    for (const n of lengths.keys()) void table.put(Buffer.from([n]), Buffer.from('other'))
  })
  for (const [n, length] of lengths.entries()) {
    t.ok(ranged[n]!.equals(toValue(length)), `${length} in a range`)
    t.ok(read[n]!.equals(toValue(length)), `${length} alone`)
  }
})
