import t from 'tap'
import { isBase64 } from '../../../lib/text/base64.ts'

t.test('isBase64 accepts both alphabets, with or without padding', (t) => {
  for (const text of ['', 'AAE=', 'AAE', '_-8', '/+8=']) t.ok(isBase64(text), text)
  for (const text of ['A', '#', 'AA=A', 'AAAA=', 'ä']) t.notOk(isBase64(text), text)
  t.end()
})
