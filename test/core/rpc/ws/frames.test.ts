import t from 'tap'
import { frameCost, readU16, readU32 } from '../../../../core/rpc/ws/frames.ts'
import { fromHex } from '../../../fixtures/rpc.ts'

t.test('numbers are little-endian and unsigned', async (t) => {
  const bytes = fromHex('0102030405fffffffffe')
  t.equal(readU16(bytes, 1), 0x0302)
  t.equal(readU16(bytes, 5), 0xffff)
  t.equal(readU32(bytes, 0), 0x04030201)
  t.equal(readU32(bytes, 5), 0xffffffff)
  t.equal(readU32(bytes, 6), 0xfeffffff)
})

t.test('a body uses its length of the window, but at least 64 bytes', async (t) => {
  t.strictSame([0, 1, 64, 65, 1e6].map(frameCost), [64, 64, 64, 65, 1e6])
})
