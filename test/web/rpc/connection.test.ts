import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { FrameReader, type FrameReceiver } from '../../../core/rpc/ws/frame-reader.ts'
import {
  CALL,
  CANCEL,
  CREDIT,
  DATA,
  END,
  GOAWAY,
  PAYLOAD_MAX_BYTES,
  REPLY,
  readU16,
  readU32,
  WINDOW_BYTES,
  WS_MESSAGE_MAX_BYTES,
} from '../../../core/rpc/ws/frames.ts'
import { ROOT } from '../../../scripts/root.ts'
import { type CallError, readCallError } from '../../../web/rpc/call-error.ts'
import { type CallOptions, Connection } from '../../../web/rpc/connection.ts'
import {
  type Bytes,
  formatCall,
  formatCancel,
  formatCredit,
  formatData,
  fromLatin1,
  join as joinBytes,
  toBody,
} from '../../../web/rpc/frames.ts'
import type { SentCall } from '../../../web/rpc/sent-call.ts'

interface Vector {
  readonly name: string
  readonly from: 'caller' | 'callee'
  readonly hex: string
  readonly before: readonly { readonly from: string; readonly hex: string }[]
  readonly code: number
}
interface ErrorVector {
  readonly json: string
  readonly error: { id: string; code: number; detail: string; metadata?: string[] } | null
}
const vectors = JSON.parse(
  readFileSync(join(ROOT, 'test/fixtures/protocol.json'), 'utf8'),
) as Record<'messages' | 'invalid' | 'ignored', Vector[]> & { errors: ErrorVector[] }

function expand(hex: string): Bytes {
  const expanded = hex
    .replace(/\(([0-9a-f]+)\)\*(\d+)/g, (_, unit: string, times) => unit.repeat(Number(times)))
    .replaceAll(' ', '')
  return new Uint8Array(Buffer.from(expanded, 'hex'))
}

interface Frame {
  readonly type: number
  readonly flags: number
  readonly id: number
  readonly payload: Bytes
}

function toFrames(...messages: Bytes[]): Frame[] {
  const frames: Frame[] = []
  const receiver: FrameReceiver<Bytes> = {
    closed: false,
    onFrame(type, flags, id, bytes, start, end) {
      frames.push({ type, flags, id, payload: bytes.slice(start, end) })
      return undefined
    },
  }
  const reader = new FrameReader(receiver, { allocate: (bytes) => new Uint8Array(bytes) })
  for (const message of messages) {
    const breach = reader.read(message)
    if (breach !== undefined) throw new Error(breach.reason)
  }
  return frames
}

/** Decodes the CALL frame of a vector. */
function toCall({ flags, payload }: Frame): CallOptions {
  const [s, e, m] = [readU16(payload, 4), readU16(payload, 6), readU32(payload, 8)]
  const text = (from: number, length: number): string =>
    fromLatin1(payload.subarray(from, from + length))
  return {
    timeoutMs: readU32(payload, 0),
    service: text(12, s),
    endpoint: text(12 + s, e),
    metadata: text(12 + s + e, m),
    body: payload.slice(12 + s + e + m),
    sends: (flags & 1) !== 0,
    streams: (flags & 2) !== 0,
  }
}

function format(frame: Frame): Bytes {
  switch (frame.type) {
    case CALL:
      return formatCall(frame.id, frame.flags, toCall(frame))
    case DATA:
      return formatData(frame.id, frame.payload)
    case CANCEL:
      return formatCancel(frame.id)
    case CREDIT:
      return formatCredit(frame.id, readU32(frame.payload, 0))
    default:
      throw new Error(`callers send no ${frame.type}`)
  }
}

function open() {
  const sent: Bytes[] = []
  const codes: number[] = []
  const connection = new Connection({
    send: (message) => sent.push(message),
    close: (code) => codes.push(code),
  })
  return { connection, sent, codes }
}

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const HELLO: CallOptions = {
  service: 'greeter',
  endpoint: 'Greeter.Hello',
  metadata: '',
  timeoutMs: 0,
  body: toBody({ name: 'Ann' }),
  streams: false,
  sends: false,
}
const STREAM: CallOptions = { ...HELLO, streams: true }
const BIDIRECTIONAL: CallOptions = { ...STREAM, sends: true, body: toBody(undefined) }

function toReply(id: number, body: string): Bytes {
  const bytes = new Uint8Array(16 + body.length)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, 4 + body.length, true)
  view.setUint8(4, REPLY)
  view.setUint32(8, id, true)
  bytes.set(Buffer.from(body), 16)
  return bytes
}

function toGoaway(lastId: number): Bytes {
  const bytes = formatCredit(0, lastId)
  bytes[4] = GOAWAY
  return bytes
}

function waitForFailure(call: SentCall): Promise<CallError> {
  return call.next().then(
    () => Promise.reject(new Error('the call did not fail')),
    (error) => error,
  )
}

/** Replays the frames that precede a vector. */
async function prepare(end: ReturnType<typeof open>, { before }: Vector): Promise<void> {
  let call: SentCall | undefined
  for (const { from, hex } of before) {
    if (from === 'callee') {
      end.connection.receive(expand(hex))
      continue
    }
    const [frame] = toFrames(expand(hex))
    if (frame!.type === CALL) call = end.connection.call({ ...toCall(frame!), timeoutMs: 0 })
    else call!.cancel(readCallError('', 'helloworld'))
  }
  await nextTick()
}

t.test('the page writes caller frames as in the protocol vectors', async (t) => {
  for (const { name, hex } of vectors.messages.filter(({ from }) => from === 'caller')) {
    const written = joinBytes(toFrames(expand(hex)).map(format))
    t.equal(Buffer.from(written).toString('hex'), Buffer.from(expand(hex)).toString('hex'), name)
  }
})

t.test('a protocol violation closes the connection and fails its calls', async (t) => {
  for (const vector of vectors.invalid.filter(({ from }) => from === 'callee')) {
    const end = open()
    await prepare(end, vector)
    t.same(end.codes, [], `${vector.name}: open before the frame`)
    end.connection.receive(expand(vector.hex))
    t.same(end.codes, [vector.code], vector.name)
    t.equal(end.connection.size, 0)
  }
  const end = open()
  end.connection.receive('text')
  t.same(end.codes, [1002], 'a text message')
})

t.test('frames for an ended call are ignored', async (t) => {
  for (const vector of vectors.ignored.filter(({ from }) => from === 'callee')) {
    const end = open()
    await prepare(end, vector)
    const { length } = end.sent
    end.connection.receive(expand(vector.hex))
    await nextTick()
    t.same(end.codes, [], vector.name)
    t.equal(end.sent.length, length)
  }
})

t.test('error bodies are parsed as in the protocol vectors', async (t) => {
  for (const { json, error } of vectors.errors) {
    const { id, code, detail, fields } = readCallError(json, 'helloworld')
    if (error === null) t.same([id, code], ['helloworld', 502], json)
    else {
      const { repeat: _, metadata = [], ...rest } = { repeat: undefined, ...error }
      t.same({ id, code, detail }, rest, json)
      t.same(fields.flat(), metadata)
    }
  }
})

t.test('frames of one tick are sent in one message', async (t) => {
  const { connection, sent } = open()
  connection.call(HELLO)
  connection.call(HELLO)
  t.equal(sent.length, 0)
  await nextTick()
  t.same(
    sent.map((message) => toFrames(message).map(({ id }) => id)),
    [[1, 2]],
  )
})

t.test('a unary call receives one body, then ends', async (t) => {
  const { connection } = open()
  const call = connection.call(HELLO)
  connection.receive(toReply(1, '{"a":1}'))
  t.equal(Buffer.from((await call.next())!).toString(), '{"a":1}')
  t.equal(await call.next(), undefined)
  t.equal(connection.size, 0)
})

t.test('a stream sends credit for consumed bytes only', async (t) => {
  const { connection, sent } = open()
  const call = connection.call(STREAM)
  const body = new Uint8Array(32_768)
  for (let i = 0; i < 8; i++) connection.receive(formatData(1, body))
  await nextTick()
  sent.length = 0
  await nextTick()
  t.same(sent, [], 'nothing was consumed yet')
  for (let i = 0; i < 8; i++) await call.next()
  await nextTick()
  const credit = toFrames(...sent).reduce((sum, { payload }) => sum + readU32(payload, 0), 0)
  t.equal(credit, 8 * 32_768)
})

t.test('a sender waits for credit, and end() sends END once', async (t) => {
  const { connection, sent } = open()
  const call = connection.call(BIDIRECTIONAL)
  await call.send(new Uint8Array(WINDOW_BYTES))
  let isSent = false
  const second = call.send(toBody({ n: 2 })).then(() => {
    isSent = true
  })
  await nextTick()
  t.notOk(isSent, 'the window is used up')
  connection.receive(formatCredit(1, 65_536))
  await second
  call.end()
  call.end()
  await nextTick()
  t.same(
    toFrames(...sent).map(({ type }) => type),
    [CALL, DATA, DATA, END],
  )
  await t.rejects(call.send(toBody({})), { code: 409 })
})

t.test('a message over a size limit fails with 413, and the connection stays open', async (t) => {
  const { connection, sent, codes } = open()
  const bidirectional = connection.call(BIDIRECTIONAL)
  const { service, endpoint } = HELLO
  const maxPayload = PAYLOAD_MAX_BYTES - 12 - service.length - endpoint.length
  t.throws(() => connection.call({ ...HELLO, body: new Uint8Array(maxPayload + 1) }), {
    code: 413,
    id: 'greeter',
    detail: 'request must be at most 16777216 bytes including metadata, got 16777217',
  })
  t.throws(() => connection.call({ ...HELLO, metadata: 'x'.repeat(65_537) }), {
    code: 413,
    detail: 'metadata must be at most 65536 bytes, got 65537',
  })
  await t.rejects(bidirectional.send(new Uint8Array(PAYLOAD_MAX_BYTES + 1)), {
    code: 413,
    detail: 'message must be at most 16777216 bytes, got 16777217',
  })
  connection.call({ ...HELLO, body: new Uint8Array(maxPayload) })
  await bidirectional.send(toBody({}))
  await nextTick()
  t.ok(sent.every(({ length }) => length <= WS_MESSAGE_MAX_BYTES))
  t.same(
    toFrames(...sent).map(({ type, id }) => [type, id]),
    [
      [CALL, 1],
      [CALL, 2],
      [DATA, 1],
    ],
    'no frame of the rejected messages',
  )
  t.same(codes, [])
})

t.test('a call that exceeds its timeout fails with 408 and sends CANCEL', async (t) => {
  const { connection, sent } = open()
  const call = connection.call({ ...HELLO, timeoutMs: 1 })
  t.match(await waitForFailure(call), { code: 408, id: 'greeter' })
  await nextTick()
  t.equal(toFrames(sent.at(-1)!).at(-1)!.type, CANCEL)
})

t.test('a lost connection fails its calls with 503 and isLoss', async (t) => {
  const { connection } = open()
  const [call, stream] = [connection.call(HELLO), connection.call(BIDIRECTIONAL)]
  await stream.send(new Uint8Array(WINDOW_BYTES))
  const sending = stream.send(toBody({}))
  connection.lose()
  t.match(await waitForFailure(call), { code: 503, isLoss: true })
  await t.rejects(sending, { code: 503 })
})

t.test(
  'after GOAWAY, later calls fail with 503, earlier ones complete, and then the connection closes',
  async (t) => {
    const { connection, codes } = open()
    const [served, outOfRange] = [connection.call(HELLO), connection.call(HELLO)]
    connection.receive(toGoaway(1))
    t.ok(connection.leaving)
    t.match(await waitForFailure(outOfRange), { code: 503, isLoss: true })
    t.same(codes, [])
    connection.receive(toReply(1, '{}'))
    t.ok(await served.next())
    t.same(codes, [1000])
  },
)
