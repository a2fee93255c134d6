import t from 'tap'
import { type Carrier, OutgoingCall } from '../../../core/rpc/call.ts'
import { Outflow } from '../../../handlers/rpc/stream-flow-control.ts'

const round = () => new Promise(setImmediate)

class Call extends OutgoingCall {
  readonly consumedBodies: number[] = []

  constructor() {
    super()
    const { consumedBodies } = this
    this.carrier = {
      consumed: (_, bytes) => void consumedBodies.push(bytes),
    } as Partial<Carrier> as Carrier
  }

  override onReply(): void {}
  override onFail(): void {}
  override onLost(): void {}
}

function open() {
  const call = new Call()
  const writes: string[][] = []
  const state = { hasRoom: true }
  const outflow = new Outflow(call, (pieces) => {
    writes.push(pieces.map((piece) => String(piece)))
    return state.hasRoom
  })
  const add = (text: string) => outflow.add(Buffer.from(text), text.length - 1)
  return { call, writes, state, outflow, add }
}

t.test('writes and credits the bodies of one tick together', async (t) => {
  const { call, writes, add } = open()
  add('one\n')
  add('three\n')
  t.strictSame(writes, [])
  t.strictSame(call.consumedBodies, [])
  await round()
  t.strictSame(writes, [['one\n', 'three\n']])
  t.strictSame(call.consumedBodies, [3, 5])
  add('next\n')
  await round()
  t.strictSame(writes.at(-1), ['next\n'])
})

t.test('writes 64 KiB immediately', async (t) => {
  const { writes, add } = open()
  const body = 'x'.repeat(20_000)
  for (let i = 0; i < 3; i++) add(body)
  t.equal(writes.length, 0)
  add(body)
  t.equal(writes.length, 1)
  await round()
  t.equal(writes.length, 1, 'written once')
})

t.test('flush writes pending pieces once', async (t) => {
  const { writes, add, outflow } = open()
  outflow.flush()
  t.strictSame(writes, [])
  add('last\n')
  outflow.flush()
  t.strictSame(writes, [['last\n']])
  await round()
  t.equal(writes.length, 1)
})

t.test('grants no credit during back-pressure', async (t) => {
  const { call, writes, state, add, outflow } = open()
  state.hasRoom = false
  add('one\n')
  await round()
  add('three\n')
  await round()
  t.equal(writes.length, 2)
  t.strictSame(call.consumedBodies, [])
  state.hasRoom = true
  add('x\n')
  outflow.drained()
  t.strictSame(call.consumedBodies, [], 'no credit for unwritten bodies')
  await round()
  t.strictSame(call.consumedBodies, [3, 5, 1])
})
