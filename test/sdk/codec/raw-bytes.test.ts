import t from 'tap'
import { toRawBytes } from '../../../sdk/codec/raw-bytes.ts'

t.test('toRawBytes returns the bytes of buffers and views', (t) => {
  const bytes = new Uint8Array([1, 2, 3, 4])
  t.equal(toRawBytes(bytes), bytes)
  t.strictSame(toRawBytes(bytes.buffer), bytes)
  t.strictSame(toRawBytes(new DataView(bytes.buffer, 1, 2)), new Uint8Array([2, 3]))
  t.strictSame(toRawBytes(new Uint16Array(bytes.buffer, 2)), new Uint8Array([3, 4]))
  t.strictSame(toRawBytes(new SharedArrayBuffer(2)), new Uint8Array(2))
  t.end()
})

t.test('toRawBytes returns undefined for other values', (t) => {
  for (const value of [undefined, null, 'ab', 5, [1], { length: 2 }])
    t.equal(toRawBytes(value), undefined)
  t.end()
})
