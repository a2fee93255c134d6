import fc from 'fast-check'
import t from 'tap'
import { Base64Reader } from '../../../../core/rpc/grpc/base64-reader.ts'

t.test('separately padded Base64 parts are decoded at any chunk size', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 30 })),
      fc.array(fc.nat(9)),
      (parts, cutPoints) => {
        const text = Buffer.from(parts.map((part) => Buffer.from(part).toString('base64')).join(''))
        const reader = new Base64Reader()
        const pieces: Buffer[] = []
        let at = 0
        for (const cut of cutPoints) {
          pieces.push(reader.read(text.subarray(at, at + cut))!)
          at += cut
        }
        pieces.push(reader.read(text.subarray(at))!)
        return reader.isComplete && Buffer.concat(pieces).equals(Buffer.concat(parts))
      },
    ),
  )
  t.end()
})

t.test('malformed and incomplete Base64 is detected', async (t) => {
  t.equal(new Base64Reader().read(Buffer.from('AA-A')), undefined)
  const reader = new Base64Reader()
  t.same(reader.read(Buffer.from('AAA')), Buffer.alloc(0))
  t.notOk(reader.isComplete)
})
