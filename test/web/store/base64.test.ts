import t from 'tap'
import { decodeBase64, encodeBase64 } from '../../../web/store/base64.ts'

t.test('round-trips bytes of any length and value', async (t) => {
  const bytes = Uint8Array.from({ length: 100_001 }, (_, i) => i)
  t.equal(encodeBase64(bytes), Buffer.from(bytes).toString('base64'))
  t.strictSame(decodeBase64(encodeBase64(bytes)), bytes)
  t.equal(encodeBase64(new Uint8Array()), '')
})
