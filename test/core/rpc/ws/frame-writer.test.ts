import t from 'tap'
import { FrameWriter } from '../../../../core/rpc/ws/frame-writer.ts'
import { PAYLOAD_MAX_BYTES, WS_MESSAGE_MAX_BYTES } from '../../../../core/rpc/ws/frames.ts'
import { tick } from '../../../fixtures/raw-backend.ts'
import {
  decodeFrames,
  fromHex,
  fromVectorBody,
  readVectors,
  TestSocket,
  type VectorFrame,
} from '../../../fixtures/rpc.ts'

function createWriter(limit = PAYLOAD_MAX_BYTES) {
  const socket = new TestSocket()
  const writer = new FrameWriter(socket, limit)
  return { socket, writer }
}

/** Writes a frame of `protocol.json`. */
function write(writer: FrameWriter, frame: VectorFrame): void {
  const { type, stream } = frame
  const flags = (frame.flags.includes('MORE') ? 1 : 0) | (frame.flags.includes('STREAM') ? 2 : 0)
  const body = fromVectorBody(frame.body ?? '')
  const { service = '', endpoint = '', metadata = '' } = frame
  switch (type) {
    case 'CALL':
      writer.call(stream, flags, frame.timeoutMs!, {
        service,
        endpoint,
        metadata,
        body,
        ascii: false,
      })
      break
    case 'REPLY':
      writer.reply(stream, flags, metadata, body)
      break
    case 'FAIL':
      writer.fail(stream, body as string)
      break
    case 'DATA':
      writer.data(stream, body)
      break
    case 'END':
      writer.end(stream)
      break
    case 'CANCEL':
      writer.cancel(stream)
      break
    case 'CREDIT':
      writer.credit(stream, frame.bytes!)
      break
    case 'GOAWAY':
      writer.goAway(frame.lastStream!)
      break
    default:
      throw new Error(type)
  }
}

t.test('frames are encoded byte for byte as in the test vectors', async (t) => {
  for (const { name, hex, frames } of readVectors().messages) {
    const { socket, writer } = createWriter()
    for (const frame of frames) write(writer, frame)
    writer.flush()
    t.equal(socket.sent.length, 1)
    t.equal(socket.sent[0]!.toString('hex'), hex, name)
  }
})

t.test('frames of one tick are sent in one message per connection', async (t) => {
  const writer = createWriter()
  const other = createWriter()
  writer.writer.end(1)
  other.writer.end(2)
  writer.writer.cancel(3)
  t.strictSame([writer.socket.sent, other.socket.sent], [[], []], 'not before the end of the tick')
  await tick()
  t.equal(writer.socket.sent.length, 1)
  t.equal(other.socket.sent.length, 1)
  t.strictSame(
    writer.socket.takeFrames().map(({ stream }) => stream),
    [1, 3],
  )
  writer.writer.end(4)
  await tick()
  t.equal(writer.socket.sent.length, 1, 'one message in the next tick')
  await tick()
  t.equal(writer.socket.sent.length, 1)
})

t.test('more than 256 KiB are sent immediately', async (t) => {
  const { socket, writer } = createWriter()
  const body = 'x'.repeat(10_000)
  let bytes = 0
  while (socket.sent.length === 0) bytes += writer.data(1, body) + 12
  t.ok(bytes > 256 * 1024)
  t.ok(bytes < 256 * 1024 + 10_100)
  t.equal(socket.sent[0]!.length, bytes)
})

t.test('a payload over the limit is not written', async (t) => {
  for (const fill of ['x', 'ö', '😀']) {
    const { socket, writer } = createWriter(10_000)
    const longest = fill.repeat(10_000 / Buffer.byteLength(fill))
    t.equal(writer.data(1, longest), 10_000)
    t.equal(writer.data(1, `${longest}x`), -1)
    t.equal(writer.data(1, Buffer.from(`${longest}x`)), -1)
    t.equal(writer.fail(1, `${longest}x`), false)
    t.equal(writer.reply(1, 0, '', longest), false)
    const parts = { service: 's', endpoint: 'e', metadata: 'a: b\r\n', body: longest, ascii: false }
    t.equal(writer.call(1, 0, 0, parts), false)
    writer.flush()
    t.equal(socket.takeFrames().length, 1, `${fill}: no part of an oversized frame`)
  }
})

t.test('a body with the ascii flag is encoded to the same bytes', async (t) => {
  for (const body of ['', '{"name":"John"}', 'x'.repeat(20_000)]) {
    const parts = { service: 's', endpoint: 'e', metadata: 'a: ä\r\n', body }
    const [known, unknown] = [true, false].map((ascii) => {
      const { socket, writer } = createWriter()
      writer.call(1, 0, 0, { ...parts, ascii })
      writer.call(2, 0, 0, { ...parts, service: 'other', ascii })
      writer.flush()
      return Buffer.concat(socket.sent).toString('hex')
    })
    t.equal(known, unknown)
  }
  const { writer } = createWriter(100)
  const parts = { service: 's', endpoint: 'e', metadata: '', body: 'x'.repeat(100), ascii: true }
  t.equal(writer.call(1, 0, 0, parts), false, 'the limit applies')
})

t.test('text and byte bodies of any length are written unchanged', async (t) => {
  const { socket, writer } = createWriter()
  for (const length of [0, 1, 4095, 4096, 8192, 70_000, 1_200_000]) {
    for (const fill of ['a', 'ö', '漢']) {
      const body = fill.repeat(length)
      writer.reply(7, 0, 'a: b\r\n', body)
      writer.reply(7, 0, 'a: b\r\n', Buffer.from(body))
      writer.flush()
      const frames = socket.takeFrames()
      t.equal(frames.length, 2)
      t.ok(frames.every((frame) => frame.body === body && frame.metadata === 'a: b\r\n'))
    }
  }
})

t.test('a deadline is rounded up to a millisecond and limited to 32 bits', async (t) => {
  const { socket, writer } = createWriter()
  const parts = { service: 's', endpoint: 'e', metadata: '', body: '', ascii: false }
  for (const [id, ms] of [0, 0.1, 1, 1.5, 1e12].entries()) writer.call(id + 1, 0, ms, parts)
  writer.flush()
  const timeouts = socket.takeFrames().map(({ timeoutMs }) => timeoutMs)
  t.strictSame(timeouts, [0, 1, 1, 2, 4294967295])
})

t.test('frames for a slow socket are queued and sent in order when it has drained', async (t) => {
  const { socket, writer: slow } = createWriter()
  t.notOk(slow.blocked)
  socket.slow = true
  slow.data(1, '0')
  slow.flush()
  t.ok(slow.blocked)
  t.equal(socket.sent.length, 1, 'the first message was sent')
  socket.sent = []
  const body = 'x'.repeat(100_000)
  for (let i = 1; i <= 30; i++) slow.data(i, body)
  await tick()
  t.strictSame(socket.sent, [])
  t.equal(slow.waitingBytes, 30 * 100_012)
  slow.drained()
  t.equal(socket.sent.length, 1, 'one message per drain')
  t.ok(socket.sent[0]!.length < 256 * 1024 + 100_012)
  socket.slow = false
  slow.drained()
  t.equal(slow.waitingBytes, 0)
  t.strictSame(
    decodeFrames(...socket.sent).map(({ stream }) => stream),
    Array.from({ length: 30 }, (_, i) => i + 1),
  )
})

t.test('a long frame is sent in several messages, and queued messages are sent first', (t) => {
  const { socket, writer } = createWriter()
  const body = Buffer.alloc(3 * WS_MESSAGE_MAX_BYTES, 'x')
  socket.slow = true
  writer.data(1, 'before')
  writer.data(2, body)
  writer.data(3, 'after')
  t.equal(socket.sent.length, 1)
  t.equal(writer.waitingBytes, 2 * WS_MESSAGE_MAX_BYTES + 3 * 12 + 6 + 5)
  writer.drained()
  t.equal(socket.sent.length, 2)
  socket.slow = false
  writer.drained()
  t.equal(writer.waitingBytes, 0)
  t.ok(socket.sent.every(({ length }) => length <= WS_MESSAGE_MAX_BYTES))
  t.strictSame(
    socket.takeFrames().map(({ stream, body }) => [stream, (body as string).length]),
    [
      [1, 6],
      [2, body.length],
      [3, 5],
    ],
  )
  writer.data(4, body)
  t.equal(socket.sent.length, 4, 'all four messages sent')
  socket.slow = true
  writer.data(5, body)
  writer.close()
  t.equal(writer.waitingBytes, 0)
  t.end()
})

t.test('sentCallId is the last CALL passed to the socket', async (t) => {
  const { socket, writer } = createWriter()
  const parts = { service: 's', endpoint: 'e', metadata: '', body: '', ascii: false }
  writer.call(5, 0, 0, parts)
  t.equal(writer.sentCallId, 0)
  socket.slow = true
  writer.flush()
  t.equal(writer.sentCallId, 5)
  const large = { ...parts, body: 'x'.repeat(300_000) }
  writer.call(6, 0, 0, large)
  writer.call(7, 0, 0, large)
  writer.call(8, 0, 0, parts)
  t.equal(writer.sentCallId, 5)
  writer.drained()
  t.equal(writer.sentCallId, 6)
  socket.slow = false
  writer.drained()
  t.equal(writer.sentCallId, 8)
})

t.test('a closed writer sends nothing and frees its memory', async (t) => {
  const { socket, writer } = createWriter()
  writer.end(1)
  writer.close()
  writer.end(2)
  writer.data(3, 'x'.repeat(300_000))
  await tick()
  t.strictSame(socket.sent, [])
  t.equal(writer.waitingBytes, 0)
})

t.test('reused memory is not overwritten before the socket has read it', async (t) => {
  const writers = Array.from({ length: 20 }, () => createWriter())
  for (let round = 0; round < 5; round++) {
    for (const [i, { writer }] of writers.entries()) {
      writer.data(
        i,
        String(i)
          .padStart(2)
          .repeat(20_000 + i * 1000),
      )
    }
    await tick()
    for (const [i, { socket }] of writers.entries()) {
      const body = String(i)
        .padStart(2)
        .repeat(20_000 + i * 1000)
      const frames = socket.takeFrames()
      if (frames.length !== 1 || frames[0]!.body !== body) t.fail(`round ${round}, writer ${i}`)
    }
  }
})

t.test('the example of docs/protocol.md is encoded byte for byte', async (t) => {
  const { socket, writer } = createWriter()
  const body = '{"name":"John"}'
  writer.call(1, 0, 10_000, {
    service: 'helloworld',
    endpoint: 'Helloworld.Call',
    metadata: '',
    body,
    ascii: false,
  })
  writer.reply(1, 0, '', '{}')
  writer.flush()
  const document = `34 00 00 00  01  00  00 00  01 00 00 00
    10 27 00 00  0a 00  0f 00  00 00 00 00
    68 65 6c 6c 6f 77 6f 72 6c 64
    48 65 6c 6c 6f 77 6f 72 6c 64 2e 43 61 6c 6c
    7b 22 6e 61 6d 65 22 3a 22 4a 6f 68 6e 22 7d
    06 00 00 00  02  00  00 00  01 00 00 00
    00 00 00 00
    7b 7d`
  t.ok(socket.sent[0]!.equals(fromHex(document.replace(/\s/g, ''))))
})
