import fc from 'fast-check'
import t from 'tap'
import { PROTOCOL_ERROR, TOO_BIG } from '../../../../core/listener/websocket/close-codes.ts'
import { FrameMeter, toCloseFrame } from '../../../../core/listener/websocket/frame-counter.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

interface Frame {
  readonly opcode: number
  readonly fin: boolean
  readonly length: number
}

function encode({ opcode, fin, length }: Frame, masked: boolean): Buffer {
  const mark = masked ? 0x80 : 0
  const first = (fin ? 0x80 : 0) | opcode
  const head =
    length < 126
      ? [first, mark | length]
      : length < 65_536
        ? [first, mark | 126, length >> 8, length & 0xff]
        : [
            first,
            mark | 127,
            0,
            0,
            0,
            0,
            ...[24, 16, 8, 0].map((shift) => (length >> shift) & 0xff),
          ]
  return Buffer.concat([
    Buffer.from(head),
    Buffer.alloc(masked ? 4 : 0),
    Buffer.alloc(length, 0xff),
  ])
}

const message: fc.Arbitrary<Frame[]> = fc
  .array(fc.oneof(fc.nat(10), fc.nat(130), fc.integer({ min: 65_530, max: 65_540 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((lengths) =>
    lengths.map((length, i) => ({
      opcode: i === 0 ? 2 : 0,
      fin: i === lengths.length - 1,
      length,
    })),
  )

t.test('frames are parsed at every chunk size', (t) => {
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 4 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 7000 }),
      (messages, masked, step) => {
        const ping = encode({ opcode: 9, fin: true, length: 5 }, masked)
        const frames = messages.flat().flatMap((frame) => [encode(frame, masked), ping])
        const bytes = Buffer.concat(frames)
        const ends = new Set<number>([0])
        let end = 0
        for (const frame of frames) {
          end += frame.length
          ends.add(end)
        }
        const meter = new FrameMeter(masked)
        for (let at = 0; at < bytes.length; at += step) {
          if (meter.feed(bytes.subarray(at, at + step)) !== 0) return false
          if (meter.atBoundary !== ends.has(Math.min(at + step, bytes.length))) return false
        }
        const payload = messages.flat().reduce((sum, { length }) => sum + length, 0)
        return meter.atBoundary && meter.bytes === payload && !meter.closed
      },
    ),
    { numRuns: scaleRuns(200) },
  )
  t.pass()
  t.end()
})

t.test('a message over the limit is TOO_BIG, fragments are added up', (t) => {
  const fragments = [
    { opcode: 1, fin: false, length: 60 },
    { opcode: 9, fin: true, length: 100 },
    { opcode: 0, fin: true, length: 40 },
  ]
  for (const [limit, expected] of [
    [100, 0],
    [99, TOO_BIG],
  ] as const) {
    const meter = new FrameMeter(false)
    meter.messageMaxBytes = limit
    const bytes = Buffer.concat(fragments.map((frame) => encode(frame, false)))
    t.equal(meter.feed(bytes), expected)
    if (expected === 0) t.equal(meter.feed(bytes), 0, 'the next message starts from zero')
  }
  t.end()
})

t.test('a length beyond the memory is TOO_BIG from the frame header alone', (t) => {
  const meter = new FrameMeter(false)
  meter.messageMaxBytes = 16 * 1024 * 1024
  t.equal(meter.feed(Buffer.from([0x82, 127, ...Array(8).fill(0xff)])), TOO_BIG)
  t.end()
})

t.test('a wrong mask bit or a control frame over 125 bytes is PROTOCOL_ERROR', (t) => {
  t.equal(
    new FrameMeter(true).feed(encode({ opcode: 2, fin: true, length: 1 }, false)),
    PROTOCOL_ERROR,
  )
  t.equal(
    new FrameMeter(false).feed(encode({ opcode: 2, fin: true, length: 1 }, true)),
    PROTOCOL_ERROR,
  )
  t.equal(new FrameMeter(false).feed(encode({ opcode: 9, fin: true, length: 125 }, false)), 0)
  t.equal(
    new FrameMeter(false).feed(encode({ opcode: 9, fin: true, length: 126 }, false)),
    PROTOCOL_ERROR,
  )
  t.end()
})

t.test('a close frame has its code and at most 123 bytes of reason', (t) => {
  t.same([...toCloseFrame(1012, 'ab')], [0x88, 4, 0x03, 0xf4, 0x61, 0x62])
  t.equal(toCloseFrame(1000, 'x'.repeat(200)).length, 2 + 125)
  const meter = new FrameMeter(false)
  t.equal(meter.feed(toCloseFrame(1012, 'ab')), 0)
  t.ok(meter.closed)
  t.ok(meter.atBoundary)
  t.end()
})
