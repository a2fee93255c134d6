import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { GatewayError } from '../../../../core/errors.ts'
import { callMemory, frameMemory, replyMemory } from '../../../../core/limits/memory-budget.ts'
import type { Dispatch } from '../../../../core/rpc/call.ts'
import { deadlines } from '../../../../core/rpc/deadlines.ts'
import { WS_MESSAGE_MAX_BYTES } from '../../../../core/rpc/ws/frames.ts'
import { ServerConnection, type ServerLimits } from '../../../../core/rpc/ws/server-connection.ts'
import { tick, waitUntil } from '../../../fixtures/raw-backend.ts'
import {
  createTracker,
  decodeFrames,
  fromHex,
  readVectors,
  TestSocket,
  type VectorMessage,
} from '../../../fixtures/rpc.ts'

function open(limits?: ServerLimits, dispatch?: Dispatch) {
  const socket = new TestSocket()
  const tracker = createTracker()
  const connection = new ServerConnection(dispatch ?? tracker.dispatch, limits)
  connection.open(socket)
  /** Receives frames of the caller, in hexadecimal as in `protocol.json`. */
  const receive = (hex: string) => connection.onMessage(fromHex(hex), true)
  return { socket, connection, receive, ...tracker }
}

function u16(value: number): string {
  return u32(value).slice(0, 4)
}

function u32(value: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes.toString('hex')
}

const MORE_FLAG = 1
const STREAM_FLAG = 2

/** CALL frame to endpoint `e`. */
function call(
  id: number,
  { flags = 0, timeoutMs = 0, service = 's', metadata = '', body = '' } = {},
): string {
  const meta = Buffer.from(metadata, 'latin1')
  const rest = Buffer.concat([Buffer.from(`${service}e`), meta, Buffer.from(body)])
  const payload = `${u32(timeoutMs)}${u16(service.length)}${u16(1)}${u32(meta.length)}${rest.toString('hex')}`
  return `${u32(payload.length / 2)}01${u16(flags)}00${u32(id)}${payload}`
}

const data = (id: number, bytes: number) => `${u32(bytes)}04000000${u32(id)}(78)*${bytes} `
const credit = (id: number, bytes: number) => `0400000007000000${u32(id)}${u32(bytes)}`
const end = (id: number) => `0000000005000000${u32(id)}`
const cancel = (id: number) => `0000000006000000${u32(id)}`

type Opened = ReturnType<typeof open>

/** Replays the messages before a vector, and checks the bytes that the callee sends. */
async function prepare(t: Test, opened: Opened, before: VectorMessage[]) {
  for (const { from, hex } of before) {
    if (from === 'caller') {
      opened.receive(hex)
      continue
    }
    const [frame] = decodeFrames(fromHex(hex))
    const call = opened.calls.at(-1)!
    if (frame!.type === 'END') call.endData()
    else call.reply(frame!.metadata!, frame!.body as string)
    await tick()
    t.equal(opened.socket.sent.pop()?.toString('hex'), hex)
  }
}

t.test(
  'a protocol violation closes the connection with its code and cancels its calls',
  async (t) => {
    for (const { name, from, before, hex, code } of readVectors().invalid) {
      if (from !== 'caller') continue
      const opened = open()
      await prepare(t, opened, before)
      t.equal(opened.socket.closed, undefined, `${name}: before the violation`)
      const callCount = opened.calls.length
      opened.receive(hex)
      t.equal(opened.socket.closed?.code, code, name)
      t.equal(opened.calls.length, callCount, 'no call is dispatched')
      for (const events of opened.events) t.equal(events.at(-1), 'cancel closed')
      opened.receive(call(1000))
      t.equal(opened.calls.length, callCount)
      t.equal(opened.connection.pending, 0)
    }
  },
)

t.test('frames that cross the end of a call are ignored', async (t) => {
  for (const { name, from, before, hex } of readVectors().ignored) {
    if (from !== 'caller') continue
    const opened = open()
    await prepare(t, opened, before)
    const events = opened.events.map((list) => [...list])
    opened.receive(hex)
    await tick()
    t.equal(opened.socket.closed, undefined, name)
    t.strictSame(opened.events, events, name)
    t.strictSame(opened.socket.sent, [])
    opened.connection.close()
  }
})

t.test('valid calls of the test vectors are decoded', async (t) => {
  for (const { name, from, hex, frames } of readVectors().messages) {
    const calls = frames.filter(({ type }) => type === 'CALL')
    if (from !== 'caller' || calls.length !== frames.length) continue
    const opened = open()
    opened.receive(hex)
    t.match(
      opened.calls,
      calls.map(({ service, endpoint, metadata, timeoutMs, flags }) => ({
        ...{ service, endpoint, metadata, timeoutMs },
        more: flags.includes('MORE'),
        stream: flags.includes('STREAM'),
      })),
      name,
    )
    opened.connection.close()
  }
})

t.test('a text message is a protocol error', async (t) => {
  const { connection, socket } = open()
  connection.onMessage(Buffer.from('hello'), false)
  t.strictSame(socket.closed, { code: 1002, reason: 'message must be binary' })
})

t.test('messages that are not Buffers are read', async (t) => {
  const { connection, bodies } = open()
  connection.onMessage(new Uint8Array(fromHex(`ff${call(1, { body: 'x' })}`)).subarray(1), true)
  t.strictSame(bodies, ['x'])
})

t.test('a call ends with a reply, an error or a stream', async (t) => {
  const { socket, connection, receive, calls } = open()
  receive(`${call(1)}${call(2)}${call(3, { flags: STREAM_FLAG })}`)
  t.equal(connection.pending, 3)
  const [one, two, three] = calls
  three!.start('a: b\r\n')
  t.ok(three!.sendData('1'))
  two!.fail(new GatewayError('s', 404, 'no'))
  one!.reply('c: d\r\n', Buffer.from('{}'))
  t.ok(three!.sendData(Buffer.from('2')))
  three!.endData()
  t.ok(calls.every(({ isSettled }) => isSettled))
  t.equal(connection.pending, 0)
  await tick()
  t.equal(socket.sent.length, 1, 'one message')
  t.match(socket.takeFrames(), [
    { type: 'REPLY', stream: 3, flags: ['MORE'], metadata: 'a: b\r\n', body: '' },
    { type: 'DATA', stream: 3, body: '1' },
    { type: 'FAIL', stream: 2, body: '{"Id":"s","Code":404,"Detail":"no","Status":"Not Found"}' },
    { type: 'REPLY', stream: 1, flags: [], metadata: 'c: d\r\n', body: '{}' },
    { type: 'DATA', stream: 3, body: '2' },
    { type: 'END', stream: 3 },
  ])
})

t.test('methods of an ended call do nothing', async (t) => {
  const { socket, receive, calls, events } = open()
  receive(`${call(1, { flags: MORE_FLAG | STREAM_FLAG })}${call(2, { flags: STREAM_FLAG })}`)
  calls[0]!.reply('', '')
  receive(cancel(2))
  socket.sent = []
  await tick()
  socket.sent = []
  for (const call of calls) {
    call.reply('', '')
    call.fail(new GatewayError('s', 500, ''))
    call.start('')
    t.equal(call.sendData('x'), true, 'discarded')
    call.endData()
    call.consumed(1_000_000)
  }
  receive(`${data(1, 1)}${end(1)}${credit(1, 1)}${cancel(1)}`)
  await tick()
  t.strictSame(socket.sent, [])
  t.strictSame(events, [[], ['cancel cancel']])
})

t.test('invalid use by an endpoint throws and sends nothing invalid', async (t) => {
  const { socket, receive, calls } = open()
  receive(`${call(1)}${call(2, { flags: STREAM_FLAG })}`)
  const [unary, stream] = calls
  t.throws(() => unary!.start(''), { message: 'the caller does not accept a stream' })
  t.throws(() => unary!.sendData('x'), { message: 'the caller does not accept a stream' })
  t.throws(() => unary!.endData(), { message: 'the caller does not accept a stream' })
  stream!.start('')
  t.throws(() => stream!.start(''), { message: 'the stream has already started' })
  t.throws(() => stream!.reply('', ''), { message: 'end a stream with endData or fail' })
  t.throws(() => stream!.sendData(Buffer.alloc(16 * 1024 * 1024 + 1)), RangeError)
  receive(call(3, { flags: STREAM_FLAG }))
  t.throws(() => calls[2]!.start(`a: ${'b'.repeat(65536)}\r\n`), TypeError)
  await tick()
  t.match(socket.takeFrames(), [{ type: 'REPLY', stream: 2 }])
})

t.test('an error thrown by the dispatcher is sent as the response', async (t) => {
  const { socket, connection, receive } = open({}, (call) => {
    if (call.metadata !== '') throw new GatewayError('s', 403, 'not you')
    throw new Error('secret')
  })
  receive(`${call(1)}${call(2, { metadata: 'a: b\r\n' })}`)
  await tick()
  t.match(socket.takeFrames(), [
    { type: 'FAIL', body: /"Id":"s","Code":500,"Detail":"internal error"/ },
    { type: 'FAIL', body: /"Code":403,"Detail":"not you"/ },
  ])
  t.equal(connection.pending, 0)
})

t.test('a reply over a size limit becomes an error', async (t) => {
  const { socket, receive, calls } = open()
  receive(`${call(1)}${call(2)}`)
  calls[0]!.reply('', Buffer.alloc(16 * 1024 * 1024))
  calls[1]!.reply(`a: ${'b'.repeat(65536)}\r\n`, '')
  await tick()
  t.match(socket.takeFrames(), [
    { type: 'FAIL', body: /"Code":500,"Detail":"response must be at most 16777216 bytes/ },
    { type: 'FAIL', body: /"Code":500,"Detail":"response metadata must be at most 65536/ },
  ])
})

t.test('the body of a call is available until the dispatcher returns', async (t) => {
  const { receive, calls, bodies } = open()
  receive(call(1, { body: 'hello' }))
  t.strictSame(bodies, ['hello'])
  t.equal(calls[0]!.body.length, 0)
})

t.test(
  'bodies of the caller arrive before the end, CREDIT is sent for half a window',
  async (t) => {
    const { socket, receive, calls, events } = open()
    receive(`${call(1, { flags: MORE_FLAG, body: 'first' })}${data(1, 2)}`)
    receive(data(1, 200_000))
    calls[0]!.consumed(2)
    await tick()
    t.strictSame(socket.sent, [])
    calls[0]!.consumed(200_000)
    await tick()
    t.match(socket.takeFrames(), [{ type: 'CREDIT', stream: 1, bytes: 200_064 }])
    calls[0]!.consumed(1e9)
    receive(`${data(1, 150_000)}${end(1)}`)
    calls[0]!.consumed(150_000)
    await tick()
    t.strictSame(socket.sent, [], 'no credit after the end')
    t.strictSame(
      events[0]!.map((event) => event.slice(0, 7)),
      ['data xx', 'data xx', 'data xx', 'end'],
    )
  },
)

t.test(
  'sendData returns false while the window is 0 or less, and one body can exceed it',
  async (t) => {
    const { socket, receive, calls, events } = open()
    receive(call(1, { flags: STREAM_FLAG }))
    const [stream] = calls
    t.equal(stream!.sendData('x'.repeat(262_143)), true)
    t.equal(stream!.sendData('x'.repeat(1000)), true, 'exceeds the window')
    t.equal(stream!.sendData('y'), false)
    receive(credit(1, 999))
    t.strictSame(events[0], [])
    receive(credit(1, 1))
    t.strictSame(events[0], ['credit'])
    receive(credit(1, 1))
    t.strictSame(events[0], ['credit'], 'one event per rejected body')
    t.equal(stream!.sendData('y'), true)
    await tick()
    t.equal(socket.takeFrames().length, 3)
  },
)

t.test('an expired deadline fails the call with 408 and cancels it', async (t) => {
  const { socket, connection, receive, calls, events } = open()
  receive(call(1, { timeoutMs: 30 }))
  const start = performance.now()
  await waitUntil(() => events[0]!.length > 0)
  t.ok(performance.now() - start >= 25)
  t.strictSame(events[0], ['cancel timeout'])
  t.ok(calls[0]!.isSettled)
  await tick()
  t.match(socket.takeFrames(), [{ type: 'FAIL', body: /"Id":"s","Code":408/ }])
  t.equal(connection.pending, 0)
  receive(call(2, { timeoutMs: 60_000 }))
  t.equal(deadlines.size, 1)
  calls[1]!.reply('', '')
  t.equal(deadlines.size, 0)
  receive(call(3, { timeoutMs: 60_000 }))
  receive(cancel(3))
  t.equal(deadlines.size, 0)
})

t.test('errors and timeouts of a non-repeatable call are marked as such', async (t) => {
  const { calls, events, dispatch } = createTracker()
  const { socket, connection, receive } = open(undefined, (call) => {
    dispatch(call)
    call.receiver = { ...call.receiver, repeatable: false }
  })
  receive(`${call(1, { timeoutMs: 5 })}${call(2)}`)
  calls[1]!.fail(new GatewayError('s', 500, 'half done'))
  await waitUntil(() => events[0]!.length > 0)
  await tick()
  t.match(socket.takeFrames(), [
    { stream: 2, body: /"Code":500,.*"Repeat":false/ },
    { stream: 1, body: /"Code":408,.*"Repeat":false/ },
  ])
  t.equal(connection.pending, 0)
})

t.test('a lost connection cancels its calls', async (t) => {
  let closed = 0
  const { connection, receive, calls, events } = open({ onClosed: () => closed++ })
  receive(`${call(1, { timeoutMs: 60_000 })}${call(2)}${call(3)}`)
  calls[1]!.reply('', '')
  connection.onClose()
  t.strictSame(events, [['cancel closed'], [], ['cancel closed']])
  t.equal(connection.pending, 0)
  t.equal(deadlines.size, 0)
  t.equal(closed, 1)
  connection.onClose()
  connection.close()
  connection.goAway()
  connection.onDrain()
  t.equal(closed, 1)
})

t.test('a connection lost during dispatch cancels the dispatched call', async (t) => {
  const reasons: string[] = []
  const opened = open({}, (call) => {
    call.receiver = {
      onData: () => {},
      onEnd: () => {},
      onCancel: (reason) => reasons.push(reason),
      onCredit: () => {},
    }
    opened.connection.onClose()
  })
  opened.receive(call(1, { timeoutMs: 1000 }))
  t.strictSame(reasons, ['closed'])
  t.equal(deadlines.size, 0)
})

t.test(
  'after GOAWAY, running calls complete, and then the connection closes within 2 s',
  async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const { socket, connection, receive, calls } = open()
    receive(`${call(1)}${call(4)}`)
    connection.goAway()
    connection.goAway()
    await tick()
    t.match(socket.takeFrames(), [{ type: 'GOAWAY', stream: 0, lastStream: 4 }])
    receive(`${call(5)}${data(5, 1)}${cancel(5)}`)
    t.equal(calls.length, 2)
    calls[0]!.reply('', '')
    t.equal(socket.closed, undefined)
    await tick()
    socket.sent = []
    calls[1]!.reply('', 'last')
    t.match(socket.takeFrames(), [{ type: 'REPLY', body: 'last' }], 'sent synchronously')
    mock.timers.tick(1999)
    t.equal(socket.closed, undefined)
    mock.timers.tick(1)
    t.equal(socket.closed?.code, 1001)
  },
)

t.test('no timer remains if the caller closes the connection after GOAWAY', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { socket, connection } = open()
  connection.goAway()
  connection.onClose()
  t.ok(connection.closed)
  mock.timers.tick(10_000)
  t.equal(socket.closed, undefined)
})

t.test('GOAWAY is sent after the responses queued for a slow caller', async (t) => {
  const { socket, connection, receive, calls } = open()
  receive(`${call(1)}${call(2)}`)
  socket.slow = true
  calls[0]!.reply('', '1')
  await tick()
  calls[1]!.reply('', '2')
  connection.goAway()
  t.equal(socket.closed, undefined)
  socket.slow = false
  connection.onDrain()
  t.strictSame(
    socket.takeFrames().map(({ type }) => type),
    ['REPLY', 'REPLY', 'GOAWAY'],
  )
  connection.onClose()
})

t.test('a dispatcher can call goAway', async (t) => {
  const opened = open({}, (call) => {
    opened.connection.goAway()
    t.equal(opened.socket.closed, undefined)
    call.reply('', '')
  })
  opened.receive(call(1))
  t.strictSame(
    opened.socket.takeFrames().map(({ type }) => type),
    ['GOAWAY', 'REPLY'],
  )
  opened.connection.onClose()
})

t.test('close cancels running calls immediately', async (t) => {
  const { socket, connection, receive, events } = open()
  receive(call(1))
  connection.close()
  t.equal(socket.closed?.code, 1001)
  t.strictSame(events, [['cancel closed']])
})

t.test('rejects calls beyond maxCalls with 503', async (t) => {
  const { socket, receive, calls } = open({ maxCalls: 2 })
  receive(`${call(1)}${call(2)}${call(3)}`)
  await tick()
  t.match(socket.takeFrames(), [{ type: 'FAIL', stream: 3, body: /"Id":"s","Code":503/ }])
  t.equal(calls.length, 2)
  calls[0]!.reply('', '')
  receive(call(4))
  t.equal(calls.length, 3)
})

t.test('rejects calls beyond maxRequestBytes with 503', async (t) => {
  const { socket, receive, calls } = open({ maxRequestBytes: 1000 })
  const body = 'x'.repeat(600)
  receive(`${call(1, { body })}${call(2, { body })}${call(3, { body })}`)
  await tick()
  t.match(socket.takeFrames(), [{ type: 'FAIL', stream: 3, body: /"Code":503/ }])
  receive(cancel(1))
  receive(call(4, { body }))
  t.equal(calls.length, 3)
})

t.test(
  'request bodies of all connections share a limit, beyond which calls fail with 503',
  async (t) => {
    const { maxBytes } = callMemory
    callMemory.maxBytes = callMemory.usedBytes + 1000
    t.teardown(() => {
      callMemory.maxBytes = maxBytes
    })
    const before = callMemory.usedBytes
    const [first, second] = [open(), open()]
    const body = 'x'.repeat(600)
    first.receive(call(1, { body }))
    second.receive(`${call(1, { body })}${call(2)}`)
    await tick()
    t.match(second.socket.takeFrames(), [
      { type: 'FAIL', stream: 1, body: /"Code":503.*request bodies.*retry-after: 1/ },
    ])
    t.equal(second.calls.length, 1, 'a call without a body is not limited')
    first.receive(cancel(1))
    second.receive(call(3, { body }))
    t.equal(second.calls.length, 2)
    second.connection.onClose()
    t.equal(callMemory.usedBytes, before, 'ended calls use no memory')
  },
)

t.test(
  'unfinished calls of all connections share a limit, and the call idle for the longest time is closed',
  (t) => {
    const { maxBytes } = frameMemory
    const before = frameMemory.usedBytes
    frameMemory.maxBytes = before + 2 * WS_MESSAGE_MAX_BYTES
    t.teardown(() => {
      frameMemory.maxBytes = maxBytes
    })
    const message = fromHex(call(1, { body: 'x'.repeat(2 * WS_MESSAGE_MAX_BYTES) }))
    const [first, second, third] = [open(), open(), open()]
    const startCall = ({ connection }: Opened): void =>
      connection.onMessage(message.subarray(0, WS_MESSAGE_MAX_BYTES), true)
    startCall(first)
    startCall(second)
    t.equal(first.socket.closed, undefined)
    startCall(third)
    t.match(first.socket.closed, { code: 1013 })
    second.connection.onMessage(
      message.subarray(WS_MESSAGE_MAX_BYTES, 2 * WS_MESSAGE_MAX_BYTES),
      true,
    )
    t.match(third.socket.closed, { code: 1013 }, 'the connection without progress')
    second.connection.onMessage(message.subarray(2 * WS_MESSAGE_MAX_BYTES), true)
    t.equal(second.bodies[0]?.length, 2 * WS_MESSAGE_MAX_BYTES)
    const fourth = open()
    startCall(fourth)
    fourth.connection.onClose()
    t.equal(frameMemory.usedBytes, before, 'closed connections use no memory')
    t.end()
  },
)

t.test(
  'long responses for slow callers share a limit, beyond which responses fail with 503',
  async (t) => {
    const { maxBytes } = replyMemory
    const before = replyMemory.usedBytes
    replyMemory.maxBytes = before + 3_000_000
    t.teardown(() => {
      replyMemory.maxBytes = maxBytes
    })
    const [first, second] = [open(), open()]
    for (const { receive, socket } of [first, second]) {
      for (let id = 1; id <= 4; id++) receive(call(id))
      socket.slow = true
    }
    const body = Buffer.alloc(900_000)
    // The first message goes to the socket, and the others are queued.
    for (const call of first.calls.slice(0, 2)) call.reply('', body)
    t.ok(replyMemory.usedBytes - before >= 1_200_000)
    second.calls[0]!.reply('', body)
    second.calls[1]!.reply('', body)
    t.ok(replyMemory.usedBytes - before >= 2_500_000)
    second.calls[2]!.reply('', body)
    second.calls[3]!.reply('', 'short')
    second.socket.slow = false
    second.connection.onDrain()
    const frames = second.socket.takeFrames()
    t.match(
      frames.find(({ stream }) => stream === 3),
      { type: 'FAIL', body: /"Code":503.*too many responses.*retry-after: 1/ },
    )
    t.match(
      frames.find(({ stream }) => stream === 4),
      { type: 'REPLY', body: 'short' },
    )
    t.ok(replyMemory.usedBytes - before < 1_300_000, 'sent responses do not count')
    first.connection.onClose()
    t.equal(replyMemory.usedBytes, before, 'responses of a closed connection do not count')
  },
)

t.test(
  'a caller that does not read is paused, and disconnected beyond maxWaitingBytes',
  async (t) => {
    const { socket, receive, calls } = open({ maxWaitingBytes: 7_250_000 })
    for (let id = 1; id <= 6; id++) receive(call(id))
    socket.slow = true
    const body = Buffer.alloc(1_500_000)
    // The first message goes to the socket, and the others are queued.
    for (const call of calls.slice(0, 3)) call.reply('', body)
    t.notOk(socket.paused)
    calls[3]!.reply('', body)
    t.ok(socket.paused)
    calls[4]!.reply('', body)
    t.equal(socket.closed, undefined)
    calls[5]!.reply('', body)
    t.equal(socket.closed?.code, 1006)
  },
)

/** Sends frames until the connection is closed; returns after how many frames it was paused and closed. */
function flood(socket: TestSocket, send: (i: number) => void): { paused: number; closed: number } {
  let paused = 0
  let closed = 0
  for (let i = 1; i <= 200_000 && closed === 0; i++) {
    send(i)
    if (paused === 0 && socket.paused) paused = i
    if (socket.closed !== undefined) closed = i
  }
  return { paused, closed }
}

t.test('rejected calls count as pending data of a caller that does not read', async (t) => {
  const { socket, receive, calls, connection, events } = open({
    maxCalls: 1,
    maxWaitingBytes: 5 * 1024 * 1024,
  })
  socket.slow = true
  receive(call(1))
  const { paused, closed } = flood(socket, (i) => receive(call(i + 1)))
  t.ok(paused > 0 && paused < closed, `paused after ${paused} calls, closed after ${closed}`)
  t.equal(socket.closed?.code, 1006)
  t.equal(calls.length, 1)
  t.strictSame(events, [['cancel closed']])
  t.equal(connection.pending, 0)
})

t.test('stream heads of cancelled calls count as pending data', async (t) => {
  const metadata = `a: ${'x'.repeat(1000)}\r\n`
  const { socket, receive } = open({ maxWaitingBytes: 5 * 1024 * 1024 }, (call) =>
    call.start(metadata),
  )
  socket.slow = true
  const { paused, closed } = flood(socket, (i) =>
    receive(`${call(i, { flags: STREAM_FLAG })}${cancel(i)}`),
  )
  t.ok(paused > 0 && paused < closed, `paused after ${paused} calls, closed after ${closed}`)
})

t.test('timeout errors count as pending data', async (t) => {
  const { socket, receive } = open({ maxWaitingBytes: 5 * 1024 * 1024 })
  socket.slow = true
  const service = 's'.repeat(3000)
  for (let id = 1; id <= 2000; id++) receive(call(id, { service, timeoutMs: 5 }))
  await waitUntil(() => socket.closed !== undefined)
  t.ok(socket.paused)
  t.equal(socket.closed?.code, 1006)
})

t.test('a paused caller is resumed once half of the responses are sent', async (t) => {
  const { socket, connection, receive, calls } = open()
  for (let id = 1; id <= 4; id++) receive(call(id))
  socket.slow = true
  for (const call of calls) call.reply('', Buffer.alloc(1_500_000))
  t.ok(socket.paused)
  while (socket.paused) connection.onDrain()
  const waitingBytes = 4 * 1_500_016 - Buffer.concat(socket.sent).length
  t.ok(
    waitingBytes <= 2 * 1024 * 1024 && waitingBytes > 1024 * 1024,
    `${waitingBytes} bytes are pending`,
  )
  socket.slow = false
  connection.onDrain()
  t.equal(socket.takeFrames().length, 4)
})

t.test(
  'stream bodies are rejected while the connection is slow, and credit follows after the drain',
  async (t) => {
    const { socket, connection, receive, calls, events } = open()
    receive(`${call(1)}${call(2, { flags: STREAM_FLAG })}${call(3, { flags: STREAM_FLAG })}`)
    socket.slow = true
    calls[0]!.reply('', 'x'.repeat(300_000))
    t.equal(calls[1]!.sendData('y'), false)
    t.equal(calls[2]!.sendData('y'), false)
    receive(cancel(3))
    receive(credit(2, 10))
    t.strictSame(events[1], [])
    socket.slow = false
    connection.onDrain()
    t.strictSame(events, [[], ['credit'], ['cancel cancel']])
    t.equal(calls[1]!.sendData('y'), true)
  },
)

t.test('calls answered synchronously leave no state behind', async (t) => {
  const { connection, socket, receive } = open({}, (call) => call.reply('', call.body))
  for (let id = 1; id <= 1000; id++) receive(call(id, { body: 'echo', timeoutMs: 1000 }))
  t.equal(connection.pending, 0)
  t.equal(deadlines.size, 0)
  await tick()
  const frames = socket.takeFrames()
  t.equal(frames.length, 1000)
  t.ok(frames.every(({ body }) => body === 'echo'))
})
