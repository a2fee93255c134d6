import t from 'tap'
import {
  frameCost,
  PAYLOAD_MAX_BYTES,
  type ProtocolError,
  protocolError,
  readFrames,
  readU16,
  readU32,
} from '../../../../core/rpc/ws/frames.ts'
import { decodeFrames, fromHex, readVectors } from '../../../fixtures/rpc.ts'

/** What is wrong with a message, and how many frames came before that. */
function read(
  message: Buffer,
  limit = PAYLOAD_MAX_BYTES,
): { breach?: ProtocolError; frames: number } {
  let frames = 0
  const receiver = { closed: false, onFrame: () => void frames++ }
  const breach = readFrames(message, receiver, limit)
  return breach === undefined ? { frames } : { breach, frames }
}

t.test('a message holds one or more whole frames', async (t) => {
  for (const { name, hex, frames } of readVectors().messages) {
    t.strictSame(decodeFrames(fromHex(hex)), frames, name)
  }
})

t.test(
  'a message cut short anywhere is a protocol error, and its whole frames count',
  async (t) => {
    const several = readVectors().messages.find(
      ({ name }) => name === 'several frames in a message',
    )!
    const message = fromHex(several.hex)
    t.strictSame(read(message), { frames: 4 })
    const whole = new Map([
      [64, 1],
      [76, 2],
      [120, 3],
    ])
    let counted = 0
    for (let length = 0; length < message.length; length++) {
      const { breach, frames } = read(message.subarray(0, length))
      if (whole.has(length)) {
        t.equal(frames, whole.get(length), `${length} bytes are whole frames`)
        t.equal(breach, undefined)
        counted++
      } else if (breach?.code !== 1002) t.fail(`${length} bytes must be refused`)
    }
    t.equal(counted, whole.size)
  },
)

t.test('a frame that is too long is 1009, whatever else it is', async (t) => {
  const frame = (length: number, type = 4) => {
    const bytes = Buffer.alloc(12)
    bytes.writeUInt32LE(length, 0)
    bytes[4] = type
    return bytes
  }
  t.equal(read(frame(PAYLOAD_MAX_BYTES + 1)).breach?.code, 1009)
  t.equal(read(frame(0xffff_ffff, 99)).breach?.code, 1009)
  t.equal(read(frame(PAYLOAD_MAX_BYTES)).breach?.code, 1002, 'as long as may be, and cut short')
  t.equal(read(frame(101), 100).breach?.code, 1009, 'another limit')
})

t.test('nothing is read once the receiver is closed, or has found something wrong', async (t) => {
  const message = fromHex('000000000500000001000000'.repeat(3))
  const receiver = {
    closed: false,
    frames: 0,
    onFrame() {
      if (++this.frames === 2) this.closed = true
      return undefined
    },
  }
  t.equal(readFrames(message, receiver, PAYLOAD_MAX_BYTES), undefined)
  t.equal(receiver.frames, 2)
  const breach = protocolError('no')
  t.equal(readFrames(message, { closed: false, onFrame: () => breach }, 1), breach)
})

t.test('numbers are little-endian and unsigned', async (t) => {
  const bytes = fromHex('0102030405fffffffffe')
  t.equal(readU16(bytes, 1), 0x0302)
  t.equal(readU16(bytes, 5), 0xffff)
  t.equal(readU32(bytes, 0), 0x04030201)
  t.equal(readU32(bytes, 5), 0xffffffff)
  t.equal(readU32(bytes, 6), 0xfeffffff)
})

t.test('a body takes its length from the window, and at least 64', async (t) => {
  t.strictSame([0, 1, 64, 65, 1e6].map(frameCost), [64, 64, 64, 65, 1e6])
})
