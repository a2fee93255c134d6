import fc from 'fast-check'
import t from 'tap'
import { frameMessage, MessageReader } from '../../../../core/rpc/grpc/message-reader.ts'

function readAll(pieces: readonly Uint8Array[], maxBytes = 1000) {
  const messages: string[] = []
  const reader = new MessageReader(maxBytes, (flags, message) =>
    messages.push(`${flags}:${Buffer.from(message).toString('latin1')}`),
  )
  const tooLong = pieces.map((piece) => reader.read(piece)).find((length) => length > 0) ?? 0
  return { messages, tooLong, waitingBytes: reader.waitingBytes }
}

t.test('messages are parsed at any chunk size', (t) => {
  const message = fc.record({ flags: fc.nat(255), text: fc.string({ maxLength: 40 }) })
  fc.assert(
    fc.property(fc.array(message), fc.array(fc.nat(20)), (sent, lengths) => {
      const bytes = Buffer.concat(
        sent.map(({ flags, text }) => frameMessage(Buffer.from(text), flags)),
      )
      const pieces: Buffer[] = []
      let at = 0
      for (const length of lengths) {
        pieces.push(bytes.subarray(at, at + length))
        at += length
      }
      pieces.push(bytes.subarray(at))
      const { messages, waitingBytes } = readAll(pieces)
      const expected = sent.map(
        ({ flags, text }) => `${flags}:${Buffer.from(text).toString('latin1')}`,
      )
      return waitingBytes === 0 && JSON.stringify(messages) === JSON.stringify(expected)
    }),
  )
  t.end()
})

t.test('an incomplete message is buffered', async (t) => {
  t.strictSame(readAll([Buffer.from([0, 0, 0, 0, 3, 1])]), {
    messages: [],
    tooLong: 0,
    waitingBytes: 6,
  })
})

t.test('a message over the limit is detected by its length prefix', async (t) => {
  const prefix = Buffer.from([0, 0, 0, 4, 0])
  t.equal(readAll([prefix]).tooLong, 1024)
  t.equal(readAll([prefix.subarray(0, 3), prefix.subarray(3)]).tooLong, 1024)
  t.equal(readAll([Buffer.from([0, 0, 0, 3, 232])]).tooLong, 0, 'at the limit')
})
