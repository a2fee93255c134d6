import t from 'tap'
import { decodeUtf8 } from '../../../core/request/utf8.ts'

t.test('UTF-8 bytes are decoded without a byte order mark', async (t) => {
  t.equal(decodeUtf8(Buffer.from('é€😀'), 'body', 'id'), 'é€😀')
  t.equal(decodeUtf8(Buffer.from('\ufeff{}'), 'body', 'id'), '{}')
  t.equal(decodeUtf8(new Uint8Array(Buffer.from('xaby')).subarray(1, 3), 'body', 'id'), 'ab')
})

t.test('rejects bytes that are not UTF-8 with 400', async (t) => {
  for (const bytes of [
    [0xff],
    [0xc0, 0xaf],
    [0xed, 0xa0, 0x80],
    [0xe2, 0x82],
    [0xf5, 0x80, 0x80, 0x80],
  ])
    t.throws(() => decodeUtf8(Uint8Array.from(bytes), 'form', 'greeter'), {
      code: 400,
      id: 'greeter',
      message: 'form must be UTF-8 text',
    })
})
