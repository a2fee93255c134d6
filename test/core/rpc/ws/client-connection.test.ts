import t, { type Test } from 'tap'
import type { OutgoingCall } from '../../../../core/rpc/call.ts'
import { deadlines } from '../../../../core/rpc/deadlines.ts'
import { ClientConnection } from '../../../../core/rpc/ws/client-connection.ts'
import { STREAM_ID_MAX } from '../../../../core/rpc/ws/frames.ts'
import { tick, waitUntil } from '../../../fixtures/raw-backend.ts'
import {
  decodeFrames,
  fromHex,
  fromVectorBody,
  RecordedCall,
  readVectors,
  TestSocket,
  type VectorMessage,
} from '../../../fixtures/rpc.ts'

function open(lastId?: number) {
  const socket = new TestSocket()
  const reported: string[] = []
  const unsent: OutgoingCall[] = []
  const connection: ClientConnection = new ClientConnection(
    socket,
    {
      onRetired: () => reported.push('retired'),
      onUnsent: (call) => unsent.push(call),
      onIdle: () => reported.push('idle'),
      onClosed: () => reported.push('closed'),
    },
    undefined,
    lastId,
  )
  /** Makes a call and waits until it is sent. */
  const call = async (fields: Partial<OutgoingCall> = {}): Promise<RecordedCall> => {
    const call = new RecordedCall(fields)
    connection.call(call)
    await tick()
    return call
  }
  /** Receives frames of the callee, in hexadecimal as in `protocol.json`. */
  const receive = (hex: string) => connection.onMessage(fromHex(hex), true)
  return { socket, reported, unsent, connection, call, receive }
}

type Opened = ReturnType<typeof open>

const END_1 = '000000000500000001000000'
const reply = (id: number, body = '') =>
  `${u32(4 + body.length / 2)}02000000${u32(id)}00000000${body}`
const data = (id: number, bytes: number) => `${u32(bytes)}04000000${u32(id)}(78)*${bytes} `
const credit = (id: number, bytes: number) => `0400000007000000${u32(id)}${u32(bytes)}`
const goAway = (lastId: number) => `040000000800000000000000${u32(lastId)}`

function u32(value: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes.toString('hex')
}

/** Replays the messages before a vector, and checks the bytes that the caller sends. */
async function prepare(t: Test, opened: Opened, before: VectorMessage[]) {
  const calls: RecordedCall[] = []
  for (const { from, hex } of before) {
    if (from === 'callee') {
      opened.receive(hex)
      continue
    }
    const [frame] = decodeFrames(fromHex(hex))
    if (frame!.type === 'CANCEL') calls[0]!.cancel()
    else {
      const { service = '', endpoint = '', timeoutMs = 0, metadata = '', flags } = frame!
      const body = fromVectorBody(frame!.body!)
      const [more, stream] = [flags.includes('MORE'), flags.includes('STREAM')]
      calls.push(await opened.call({ service, endpoint, timeoutMs, metadata, body, more, stream }))
    }
    await tick()
    t.equal(opened.socket.sent.pop()?.toString('hex'), hex)
  }
  return calls
}

t.test(
  'a protocol violation closes the connection with its code and loses its calls',
  async (t) => {
    for (const { name, from, before, hex, code } of readVectors().invalid) {
      if (from !== 'callee') continue
      const opened = open()
      const calls = await prepare(t, opened, before)
      t.equal(opened.socket.closed, undefined, `${name}: before the violation`)
      opened.receive(hex)
      t.equal(opened.socket.closed?.code, code, name)
      t.ok(opened.connection.closed)
      t.equal(opened.reported.at(-1), 'closed')
      for (const { events, lost } of calls) {
        // Frames before the invalid one are processed.
        if (events[0]?.startsWith('reply')) continue
        t.match(lost, { kind: 'closed', detail: /^protocol error by the service: / })
      }
      opened.receive(END_1)
      t.equal(opened.connection.pending, 0)
    }
  },
)

t.test('frames that cross the end of a call are ignored', async (t) => {
  for (const { name, from, before, hex } of readVectors().ignored) {
    if (from !== 'callee') continue
    const opened = open()
    const [call] = await prepare(t, opened, before)
    const events = [...call!.events]
    opened.receive(hex)
    t.equal(opened.socket.closed, undefined, name)
    t.strictSame(call!.events, events, name)
  }
})

t.test('a text message is a protocol error', async (t) => {
  const { connection, socket, call } = open()
  await call()
  connection.onMessage(Buffer.from('hello'), false)
  t.strictSame(socket.closed, { code: 1002, reason: 'message must be binary' })
})

t.test('calls of one tick are sent in one message with increasing ids', async (t) => {
  const { connection, socket } = open()
  const calls = Array.from({ length: 3 }, () => new RecordedCall())
  for (const call of calls) connection.call(call)
  t.equal(connection.pending, 3)
  await tick()
  t.equal(socket.sent.length, 1)
  t.strictSame(
    socket.takeFrames().map(({ type, stream }) => [type, stream]),
    [
      ['CALL', 1],
      ['CALL', 2],
      ['CALL', 3],
    ],
  )
})

t.test('a call ends with a reply, an error or a stream', async (t) => {
  const { connection, reported, call, receive } = open()
  const unary = await call()
  const failed = await call()
  const stream = await call({ stream: true })
  receive('0b00000002000000010000000600000061 3a2062 0d0a7b'.replaceAll(' ', ''))
  t.strictSame(unary.events, ['reply "a: b\\r\\n" {'])
  const error = Buffer.from('{"Id":"other","Code":404,"Detail":"no","Status":"Not Found"}')
  receive(`${u32(error.length)}0300000002000000${error.toString('hex')}`)
  t.strictSame(failed.events, ['fail 404 other: no'])
  receive(`04000000 02010000 03000000 00000000 ${data(3, 1)} ${data(3, 2)}`)
  receive('000000000500000003000000')
  t.strictSame(stream.events, ['start ""', 'data x', 'data xx', 'end'])
  t.strictSame(reported, ['idle'], 'after the last call')
  t.equal(connection.pending, 0)
})

t.test('a streaming call can fail midway or have a single reply', async (t) => {
  const { call, receive } = open()
  const failed = await call({ stream: true })
  const complete = await call({ stream: true })
  receive(data(1, 1))
  receive(`0c0000000300000001000000${Buffer.from('{"Code":500}').toString('hex')}`)
  receive(reply(2, '7b7d'))
  t.strictSame(failed.events, ['data x', 'fail 500 helloworld: '])
  t.strictSame(complete.events, ['reply "" {}'])
})

t.test('a malformed error fails with 502 and the name of the service', async (t) => {
  const { socket, call, receive } = open()
  const [first, second] = [await call(), await call()]
  const json = Buffer.from('{"Code":502}').toString('hex')
  receive(`020000000300000001000000 7b7b 0c0000000300000002000000 ${json}`)
  t.match(first.error, { id: 'helloworld', code: 502 })
  t.ok(first.isForeign, 'not a protocol error of the service')
  t.match(second.error, { id: 'helloworld', code: 502 })
  t.notOk(second.isForeign)
  t.equal(socket.closed, undefined)
})

t.test('a call over a size limit fails without sending anything', async (t) => {
  const { connection, socket, call } = open()
  const wide = await call({ metadata: `a: ${'b'.repeat(65536)}\r\n` })
  t.match(wide.error, { code: 431, message: 'metadata must be at most 65536 bytes' })
  const long = await call({ service: 's'.repeat(65536) })
  t.match(long.error, { code: 400 })
  const endpoint = await call({ endpoint: 's'.repeat(65536) })
  t.match(endpoint.error, { code: 400 })
  const large = await call({ body: Buffer.alloc(16 * 1024 * 1024) })
  t.match(large.error, { code: 413 })
  t.strictSame(socket.sent, [])
  t.equal(connection.pending, 0)
  const largest = await call({ body: Buffer.alloc(16 * 1024 * 1024 - 12 - 25) })
  t.equal(largest.error, undefined)
  t.equal(Buffer.concat(socket.sent).length, 16 * 1024 * 1024 + 12)
})

t.test('a call fails as full when more than 64 MiB are pending for a slow service', async (t) => {
  const { connection, socket } = open()
  socket.slow = true
  const body = Buffer.alloc(8 * 1024 * 1024)
  const calls = Array.from({ length: 12 }, () => new RecordedCall({ body }))
  for (const call of calls) connection.call(call)
  // One message was sent. The rest of the first call and eight more calls are pending.
  const full = calls.filter(({ lost }) => lost?.kind === 'full')
  t.equal(full.length, 3)
  t.equal(connection.pending, 9)
  socket.slow = false
  connection.onDrain()
  t.equal(socket.takeFrames().length, 9)
})

t.test(
  'a deadline is sent in milliseconds, and the call is cancelled when it expires',
  async (t) => {
    const { socket, call, receive } = open()
    const start = performance.now()
    const first = await call({ timeoutMs: 40 })
    t.equal(socket.takeFrames()[0]!.timeoutMs, 40)
    await waitUntil(() => first.events.length > 0)
    t.ok(performance.now() - start >= 30)
    t.match(first.lost, { kind: 'timeout', detail: 'no response within 40 ms' })
    await tick()
    t.match(socket.takeFrames(), [{ type: 'CANCEL', stream: 1 }])
    receive(reply(1))
    t.equal(first.events.length, 1)
    const other = await call({ timeoutMs: 60_000 })
    t.equal(deadlines.size, 1)
    receive(reply(2))
    t.equal(deadlines.size, 0)
    t.equal(other.events.length, 1)
    const waited = new RecordedCall({ timeoutMs: 60_000 })
    deadlines.add(waited, 500)
    socket.sent = []
    await call()
    t.equal(socket.takeFrames()[0]!.timeoutMs, 0, 'no deadline')
    const { connection } = open()
    connection.call(waited)
    waited.cancel()
    t.equal(deadlines.size, 0)
  },
)

t.test('a queued call is sent with its remaining time', async (t) => {
  const { connection, socket } = open()
  const waited = new RecordedCall({ timeoutMs: 60_000 })
  deadlines.add(waited, 500)
  connection.call(waited)
  await tick()
  const { timeoutMs } = socket.takeFrames()[0]!
  t.ok(timeoutMs! > 0 && timeoutMs! <= 500)
  waited.cancel()
})

t.test('CANCEL ends the call in both directions', async (t) => {
  const { connection, socket, call, receive } = open()
  const first = await call({ more: true, stream: true })
  socket.sent = []
  first.cancel()
  first.cancel()
  t.equal(first.sendData('x'), true, 'discarded')
  first.endData()
  first.consumed(1_000_000)
  await tick()
  t.strictSame(socket.takeFrames(), [{ type: 'CANCEL', flags: [], stream: 1 }])
  receive(data(1, 1))
  receive(END_1)
  t.strictSame(first.events, [])
  t.equal(connection.pending, 0)
})

t.test(
  'sendData returns false while the window is 0 or less, and one body can exceed it',
  async (t) => {
    const { socket, call, receive } = open()
    const first = await call({ more: true, body: '' })
    socket.sent = []
    t.equal(first.sendData('x'.repeat(262_143)), true)
    t.equal(first.sendData('x'.repeat(1000)), true, 'exceeds the window')
    t.equal(first.sendData('y'), false)
    await tick()
    t.equal(socket.takeFrames().length, 2)
    receive(credit(1, 999))
    t.strictSame(first.events, [], 'window 0')
    receive(credit(1, 1))
    t.strictSame(first.events, ['credit'])
    t.equal(first.sendData('y'), true)
    t.equal(first.sendData('z'), false)
    receive(credit(1, 1000))
    receive(credit(1, 1000))
    t.strictSame(first.events, ['credit', 'credit'], 'one credit event per rejected body')
    first.endData()
    first.endData()
    await tick()
    t.strictSame(
      socket.takeFrames().map(({ type }) => type),
      ['DATA', 'END'],
    )
    t.throws(() => first.sendData('after the end'), { message: 'endData was already called' })
  },
)

t.test('a short body uses 64 bytes of the window', async (t) => {
  const { call } = open()
  const first = await call({ more: true, body: '' })
  let sent = 0
  while (first.sendData('')) sent++
  t.equal(sent, 4096)
})

t.test('a body over 16 MiB throws without sending anything', async (t) => {
  const { socket, call } = open()
  const first = await call({ more: true, body: '' })
  socket.sent = []
  t.throws(() => first.sendData(Buffer.alloc(16 * 1024 * 1024 + 1)), RangeError)
  await tick()
  t.strictSame(socket.sent, [])
  t.equal(first.sendData('x'), true)
})

t.test('a slow socket rejects bodies, and credit follows once it has drained', async (t) => {
  const { connection, socket, call, receive } = open()
  const first = await call({ more: true, body: '' })
  const other = await call({ more: true, body: '' })
  socket.slow = true
  t.equal(first.sendData('a'), true)
  await tick()
  t.equal(first.sendData('b'), false)
  t.equal(other.sendData('c'), false)
  const third = await call()
  t.equal(socket.sent.length, 3, 'the call is queued')
  receive(credit(1, 1))
  t.strictSame(first.events, [], 'no credit event while the socket is slow')
  other.cancel()
  socket.slow = false
  socket.sent = []
  connection.onDrain()
  t.strictSame(first.events, ['credit'])
  t.strictSame(other.events, [], 'the call was cancelled')
  t.strictSame(
    socket.takeFrames().map(({ type }) => type),
    ['CALL', 'CANCEL'],
  )
  receive(reply(3))
  t.equal(third.events.length, 1)
})

t.test(
  'CREDIT is sent when half a window is consumed, but never for more than was received',
  async (t) => {
    const { socket, call, receive } = open()
    const first = await call({ stream: true })
    socket.sent = []
    receive(data(1, 200_000))
    first.consumed(100_000)
    await tick()
    t.strictSame(socket.sent, [])
    first.consumed(100_000)
    await tick()
    t.match(socket.takeFrames(), [{ type: 'CREDIT', stream: 1, bytes: 200_000 }])
    first.consumed(1_000_000)
    await tick()
    t.strictSame(socket.sent, [], 'no credit is left')
    receive(`${data(1, 1)}`.repeat(4096))
    for (let i = 0; i < 4096; i++) first.consumed(1)
    await tick()
    t.match(socket.takeFrames(), [{ bytes: 131_072 }, { bytes: 131_072 }])
    receive(data(1, 1_000_000))
    first.consumed(1_000_000)
    await tick()
    t.match(socket.takeFrames(), [{ bytes: 1_000_000 }])
  },
)

t.test('on GOAWAY unprocessed calls are returned as unsent, and the others continue', async (t) => {
  const { connection, socket, reported, unsent, call, receive } = open()
  const [served, notServed, other] = [await call(), await call(), await call()]
  const uploading = await call({ more: true, body: '' })
  uploading.sendData('1')
  const completeCall = await call({ more: true, body: '' })
  completeCall.endData()
  receive(goAway(1))
  t.strictSame(reported, ['retired'])
  t.ok(connection.retired)
  t.strictSame(unsent, [notServed, other, completeCall])
  t.match(uploading.lost, { kind: 'unsent' }, 'its bodies are already sent')
  t.strictSame(
    [served, notServed, other].flatMap(({ events }) => events),
    [],
  )
  t.equal(connection.pending, 1)
  receive(`${reply(3)}${reply(2)}`)
  t.equal(socket.closed, undefined)
  receive(reply(1))
  t.equal(served.events.length, 1)
  t.equal(socket.closed?.code, 1000, 'no call is pending')
  t.strictSame(reported, ['retired', 'closed'])
})

t.test('only the first GOAWAY is processed', async (t) => {
  const { connection, unsent, call, receive } = open()
  const calls = [await call(), await call(), await call()]
  receive(goAway(2))
  receive(goAway(2).repeat(1000) + goAway(1) + goAway(0))
  t.strictSame(unsent, [calls[2]])
  t.equal(connection.pending, 2)
  receive(`${reply(1)}${reply(2)}`)
  t.strictSame(
    calls.map(({ events }) => events.length),
    [1, 1, 0],
  )
})

t.test('a pending call is lost as stopped if the connection closes after GOAWAY', async (t) => {
  const { connection, call, receive } = open()
  const first = await call()
  receive(goAway(1))
  connection.onClose(1001, 'going away')
  t.strictSame(first.lost, { kind: 'stopped', detail: 'connection closed (1001 going away)' })
})

t.test('GOAWAY without pending calls closes the connection', async (t) => {
  const { socket, reported, receive } = open()
  receive(goAway(0))
  t.equal(socket.closed?.code, 1000)
  t.strictSame(reported, ['retired', 'closed'])
})

t.test('a lost connection loses sent calls as closed and unwritten calls as unsent', async (t) => {
  const { connection, reported, call } = open()
  const first = await call({ timeoutMs: 60_000 })
  const second = await call()
  const three = new RecordedCall({ timeoutMs: 60_000 })
  connection.call(three)
  connection.onClose(1006, 'read ECONNRESET')
  for (const { lost } of [first, second]) {
    t.strictSame(lost, { kind: 'closed', detail: 'connection closed (1006 read ECONNRESET)' })
  }
  t.match(three.lost, { kind: 'unsent' })
  t.strictSame(reported, ['closed'])
  t.equal(deadlines.size, 0)
  connection.onClose(1006, '')
  connection.terminate('again')
  connection.onDrain()
  t.strictSame(reported, ['closed'], 'closed once')
})

t.test('calls queued behind a slow socket are lost as unsent', async (t) => {
  const { connection, socket, call } = open()
  socket.slow = true
  const first = await call()
  const second = await call()
  connection.onClose(1006, '')
  t.match(first.lost, { kind: 'closed' })
  t.match(second.lost, { kind: 'unsent' })
})

t.test('an event handler can call, cancel and close while a message is processed', async (t) => {
  const { connection, socket, call, receive } = open()
  const [first, second, three] = [await call(), await call(), await call()]
  let added: RecordedCall | undefined
  first.onEvent = () => {
    second.cancel()
    added = new RecordedCall()
    connection.call(added)
  }
  receive(`${reply(1)}${reply(2)}${reply(3)}`)
  t.strictSame(
    [first, second, three].map(({ events }) => events.length),
    [1, 0, 1],
  )
  await tick()
  t.equal(connection.pending, 1)
  added!.onEvent = () => connection.close('enough')
  const last = await call()
  receive(`${reply(4)}${reply(5)}`)
  t.equal(socket.closed?.code, 1000)
  t.strictSame(last.events, ['lost closed'])
})

t.test('cancelling a call in the onLost of another delivers no second event', async (t) => {
  const { connection, call } = open()
  const [first, second, three] = [await call(), await call(), await call()]
  first.onEvent = () => second.cancel()
  connection.terminate('gone')
  t.strictSame(
    [first, second, three].map(({ events }) => events),
    [['lost closed'], [], ['lost closed']],
  )
})

t.test('a connection with no stream ids left is retired', async (t) => {
  const { connection, socket, reported, call, receive } = open(STREAM_ID_MAX - 2)
  const first = await call()
  t.strictSame(reported, [])
  const second = await call()
  t.strictSame(reported, ['retired'])
  t.equal(socket.takeFrames().at(-1)!.stream, STREAM_ID_MAX)
  receive(reply(STREAM_ID_MAX))
  receive(reply(STREAM_ID_MAX - 1))
  t.strictSame([first.events.length, second.events.length], [1, 1])
  t.ok(connection.closed)
})

t.test('a reply to a call that was not sent is a protocol error', async (t) => {
  const { connection, socket, receive } = open()
  const first = new RecordedCall()
  connection.call(first)
  receive(reply(1))
  t.equal(socket.closed?.code, 1002)
  t.strictSame(first.events, ['lost unsent'])
})

t.test('lastSeenMs is set by the first call and by every message', async (t) => {
  const { connection, call, receive } = open()
  connection.lastSeenMs = 0
  await call()
  t.ok(connection.lastSeenMs > 0)
  connection.lastSeenMs = 0
  await call()
  t.equal(connection.lastSeenMs, 0)
  receive(reply(1))
  t.ok(connection.lastSeenMs > 0)
})

t.test('messages that are not Buffers are read', async (t) => {
  const { connection, call } = open()
  const first = await call()
  const bytes = fromHex(`ffff${reply(1, '7b7d')}`)
  const memory = new Uint8Array(bytes)
  connection.onMessage(memory.subarray(2), true)
  t.strictSame(first.events, ['reply "" {}'])
})
