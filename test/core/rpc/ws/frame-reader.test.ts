import t from 'tap'
import { FrameReader } from '../../../../core/rpc/ws/frame-reader.ts'
import {
  HEADER_BYTES,
  PAYLOAD_MAX_BYTES,
  type ProtocolError,
  protocolError,
  WS_MESSAGE_MAX_BYTES,
} from '../../../../core/rpc/ws/frames.ts'
import { createReader, decodeFrames, fromHex, readVectors } from '../../../fixtures/rpc.ts'

/** Protocol violation of a message, and the number of frames before it. */
function read(
  message: Buffer,
  limit = PAYLOAD_MAX_BYTES,
): { breach?: ProtocolError; frames: number } {
  let frames = 0
  const receiver = { closed: false, onFrame: () => void frames++ }
  const breach = createReader(receiver, limit).read(message)
  return breach === undefined ? { frames } : { breach, frames }
}

t.test('a message contains one or more complete frames', async (t) => {
  for (const { name, hex, frames } of readVectors().messages) {
    t.strictSame(decodeFrames(fromHex(hex)), frames, name)
  }
})

t.test(
  'a truncated message is a protocol error, but its complete frames are processed',
  async (t) => {
    const several = readVectors().messages.find(
      ({ name }) => name === 'several frames in a message',
    )!
    const message = fromHex(several.hex)
    t.strictSame(read(message), { frames: 4 })
    const complete = new Map([
      [64, 1],
      [76, 2],
      [120, 3],
    ])
    let counted = 0
    for (let length = 0; length < message.length; length++) {
      const { breach, frames } = read(message.subarray(0, length))
      if (complete.has(length)) {
        t.equal(frames, complete.get(length), `${length} bytes are complete frames`)
        t.equal(breach, undefined)
        counted++
      } else if (breach?.code !== 1002) t.fail(`${length} bytes must be rejected`)
    }
    t.equal(counted, complete.size)
  },
)

t.test('a frame over the limit fails with 1009, even with an unknown type', async (t) => {
  const frame = (length: number, type = 4) => {
    const bytes = Buffer.alloc(12)
    bytes.writeUInt32LE(length, 0)
    bytes[4] = type
    return bytes
  }
  t.equal(read(frame(PAYLOAD_MAX_BYTES + 1)).breach?.code, 1009)
  t.equal(read(frame(0xffff_ffff, 99)).breach?.code, 1009)
  t.equal(read(frame(PAYLOAD_MAX_BYTES)).breach?.code, 1002, 'at the limit, but truncated')
  t.equal(read(frame(101), 100).breach?.code, 1009, 'another limit')
})

t.test('reading stops once the receiver is closed or returns an error', async (t) => {
  const message = fromHex('000000000500000001000000'.repeat(3))
  const receiver = {
    closed: false,
    frames: 0,
    onFrame() {
      if (++this.frames === 2) this.closed = true
      return undefined
    },
  }
  t.equal(createReader(receiver).read(message), undefined)
  t.equal(receiver.frames, 2)
  const breach = protocolError('no')
  t.equal(createReader({ closed: false, onFrame: () => breach }, 1).read(message), breach)
})

/** DATA frame of stream 1. */
function frame(bytes: number): Buffer {
  const frame = Buffer.alloc(HEADER_BYTES + bytes, 'x')
  frame.set(fromHex('000000000400000001000000'))
  frame.writeUInt32LE(bytes, 0)
  return frame
}

/** Splits frames into messages. */
function split(frames: Buffer): Buffer[] {
  const messages: Buffer[] = []
  for (let at = 0; at < frames.length; at += WS_MESSAGE_MAX_BYTES)
    messages.push(frames.subarray(at, at + WS_MESSAGE_MAX_BYTES))
  return messages
}

t.test('a frame longer than a message is read from several messages', (t) => {
  for (const bytes of [
    // The header of the third frame ends a message.
    WS_MESSAGE_MAX_BYTES - 3 * HEADER_BYTES - 1,
    3 * WS_MESSAGE_MAX_BYTES - 3 * HEADER_BYTES - 1,
    // The second frame ends a message.
    2 * WS_MESSAGE_MAX_BYTES - 2 * HEADER_BYTES - 1,
    PAYLOAD_MAX_BYTES,
  ]) {
    const frames = Buffer.concat([frame(1), frame(bytes), frame(2)])
    const lengths = decodeFrames(...split(frames)).map(({ body }) => (body as string).length)
    t.strictSame(lengths, [1, bytes, 2], `${bytes}`)
  }
  t.end()
})

t.test('the bytes of an unfinished frame are copied and reported', (t) => {
  const reported: number[] = []
  const bodies: string[] = []
  const reader = new FrameReader<Buffer>(
    {
      closed: false,
      onFrame: (_type, _flags, _id, bytes, start, end) => {
        bodies.push(bytes.toString('latin1', start, end))
        return undefined
      },
    },
    {
      allocate: Buffer.alloc,
      onBuffered: (bytes) => reported.push(bytes),
    },
  )
  const messages = split(Buffer.concat([frame(100), frame(2 * WS_MESSAGE_MAX_BYTES)]))
  for (const message of messages) {
    t.equal(reader.read(message), undefined)
    message.fill(0)
  }
  const firstBytes = WS_MESSAGE_MAX_BYTES - 100 - HEADER_BYTES
  t.strictSame(reported, [firstBytes, firstBytes + WS_MESSAGE_MAX_BYTES, 0])
  t.strictSame(bodies, ['x'.repeat(100), 'x'.repeat(2 * WS_MESSAGE_MAX_BYTES)])
  reader.read(split(frame(WS_MESSAGE_MAX_BYTES))[0]!)
  reader.clear()
  reader.clear()
  t.strictSame(reported.slice(3), [WS_MESSAGE_MAX_BYTES, 0], 'clear() reports once')
  t.equal(reader.read(frame(1)), undefined)
  t.end()
})

t.test('a continuation message that is neither full nor ends its frame fails with 1002', (t) => {
  const messages = split(frame(2 * WS_MESSAGE_MAX_BYTES))
  for (const length of [1, WS_MESSAGE_MAX_BYTES - 1]) {
    const reader = createReader({ closed: false, onFrame: () => undefined })
    t.equal(reader.read(messages[0]!), undefined)
    t.equal(reader.read(messages[1]!.subarray(0, length))?.code, 1002)
  }
  t.end()
})

t.test('a header split between two messages fails with 1002', (t) => {
  const frames = Buffer.concat([frame(WS_MESSAGE_MAX_BYTES - 2 * HEADER_BYTES + 1), frame(1)])
  t.same(read(split(frames)[0]!).breach?.code, 1002)
  t.end()
})
