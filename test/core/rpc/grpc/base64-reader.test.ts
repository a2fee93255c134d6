import fc from 'fast-check'
import t from 'tap'
import { Base64Reader } from '../../../../core/rpc/grpc/base64-reader.ts'

t.test('bytes come back, each part padded for itself, however the text is cut', (t) => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 30 })), fc.array(fc.nat(9)), (parts, cuts) => {
      const text = Buffer.from(parts.map((part) => Buffer.from(part).toString('base64')).join(''))
      const reader = new Base64Reader()
      const pieces: Buffer[] = []
      let at = 0
      for (const cut of cuts) {
        pieces.push(reader.read(text.subarray(at, at + cut))!)
        at += cut
      }
      pieces.push(reader.read(text.subarray(at))!)
      return reader.isWhole && Buffer.concat(pieces).equals(Buffer.concat(parts))
    }),
  )
  t.end()
})

t.test('what is no base64 is told', async (t) => {
  t.equal(new Base64Reader().read(Buffer.from('AA-A')), undefined)
  const reader = new Base64Reader()
  t.same(reader.read(Buffer.from('AAA')), Buffer.alloc(0))
  t.notOk(reader.isWhole)
})
