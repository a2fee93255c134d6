import { createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Dispatch, OutgoingCall } from '../../../../../core/rpc/call.ts'
import { deadlines } from '../../../../../core/rpc/deadlines.ts'
import { Channel, type ChannelOptions } from '../../../../../core/rpc/ws/channel.ts'
import { createUpstreamTls } from '../../../../../core/upstream/tls.ts'
import { createCertificate } from '../../../../fixtures/certificates.ts'
import { listen } from '../../../../fixtures/listen.ts'
import { findClosedPort } from '../../../../fixtures/ports.ts'
import { tick, waitUntil } from '../../../../fixtures/raw-backend.ts'
import { createTracker, RecordedCall } from '../../../../fixtures/rpc.ts'
import { openRpcService } from '../../../../fixtures/rpc-service.ts'

const echo: Dispatch = (call) => call.reply('', call.body)

function openChannel(t: Test, port: number, options: Partial<ChannelOptions> = {}): Channel {
  const channel = new Channel({ host: '127.0.0.1', port, ...options })
  t.teardown(() => channel.close())
  return channel
}

function send(channel: Channel, fields: Partial<OutgoingCall> = {}): RecordedCall {
  const call = new RecordedCall(fields)
  channel.call(call)
  return call
}

/** Resolves with the events of a call once it has the given number. */
async function settle(call: RecordedCall, events = 1): Promise<string[]> {
  await waitUntil(() => call.events.length >= events)
  return call.events
}

/** A server that accepts connections and calls `onSocket`. */
function openTcp(t: Test, onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    onSocket(socket)
  })
  return listen(t, server)
}

t.test('connects on the first call and sends all calls over one connection', async (t) => {
  const service = await openRpcService(t, echo)
  const channel = openChannel(t, service.port)
  await tick()
  t.equal(service.sockets.length, 0)
  t.notOk(channel.connected)
  const calls = Array.from({ length: 1000 }, (_, i) => send(channel, { body: String(i) }))
  t.equal(channel.pending, 1000)
  await waitUntil(() => channel.pending === 0)
  t.ok(channel.connected)
  for (const [i, { events }] of calls.entries()) t.strictSame(events, [`reply "" ${i}`])
  t.equal(service.sockets.length, 1)
  const [request] = service.requests
  t.equal(request!.url, '/.mx/rpc')
  t.equal(request!.headers['sec-websocket-protocol'], 'mx.rpc.1')
  t.equal(request!.headers['sec-websocket-extensions'], undefined, 'no compression')
})

t.test('transfers bodies of 16 MiB in both directions', async (t) => {
  const service = await openRpcService(t, echo)
  const channel = openChannel(t, service.port)
  const body = Buffer.alloc(16 * 1024 * 1024 - 100, 'x')
  let length = 0
  const call = new RecordedCall({ body })
  call.onReply = (_metadata, reply) => {
    if (Buffer.from(reply).equals(body)) length = reply.length
    call.events.push('same')
  }
  channel.call(call)
  await settle(call)
  t.equal(length, body.length)
})

t.test('masks frames with a key of zero', async (t) => {
  let received = Buffer.alloc(0)
  const service = await openRpcService(t, echo, {
    onSocket: (socket) => {
      // Measured below the library, which removes the mask.
      const tcp = (socket as unknown as { _socket: Socket })._socket
      tcp.prependListener('data', (chunk: Buffer) => {
        received = Buffer.concat([received, chunk])
      })
    },
  })
  const channel = openChannel(t, service.port)
  send(channel)
  await waitUntil(() => received.length >= 70)
  t.ok(received.includes('helloworldHelloworld.Call{"name":"John"}'))
})

t.test('a client stream may start before the connection is open', async (t) => {
  const { dispatch, events, calls } = createTracker()
  const service = await openRpcService(t, dispatch)
  const channel = openChannel(t, service.port)
  const call = send(channel, { more: true, stream: true, body: '' })
  t.equal(call.sendData('1'), false, 'not yet')
  call.consumed(1)
  t.strictSame(await settle(call), ['credit'])
  t.equal(call.sendData('1'), true)
  call.endData()
  await waitUntil(() => events[0]?.length === 2)
  t.strictSame(events[0], ['data 1', 'end'])
  calls[0]!.sendData('2')
  calls[0]!.endData()
  t.strictSame(await settle(call, 3), ['credit', 'data 2', 'end'])
  const short = openChannel(t, service.port)
  const ended = send(short, { more: true, body: 'only' })
  ended.endData()
  await waitUntil(() => calls.length === 2)
  t.equal(calls[1]!.more, false, 'the end was known before the call was sent')
})

t.test('a failed connection fails the pending calls, and only a new call reconnects', async (t) => {
  let connections = 0
  const port = await openTcp(t, (socket) => {
    connections++
    socket.destroy()
  })
  const channel = openChannel(t, port)
  const calls = [send(channel), send(channel, { timeoutMs: 60_000 })]
  for (const call of calls) t.strictSame(await settle(call), ['lost connect'])
  t.match(calls[0]!.lost!.detail, `no connection to 127.0.0.1:${port}: socket hang up`)
  t.equal(connections, 1)
  t.equal(channel.pending, 0)
  t.equal(deadlines.size, 0)
  const repeated = send(channel)
  t.strictSame(await settle(repeated), ['lost connect'])
  t.equal(connections, 2)
  const rejected = openChannel(t, await findClosedPort())
  const call = send(rejected)
  await settle(call)
  t.match(call.lost, { kind: 'connect', detail: /ECONNREFUSED/ })
})

t.test(
  'reports a handshake without a response as unreachable, and an invalid response as another protocol',
  async (t) => {
    const silent = openChannel(t, await openTcp(t, () => {}), { connectTimeoutMs: 30 })
    const one = send(silent)
    await settle(one)
    t.match(one.lost, { kind: 'connect', detail: /no response within 30 ms$/ })

    const service = await openRpcService(t, echo, { protocol: false })
    const other = openChannel(t, service.port)
    const two = send(other)
    await settle(two)
    t.match(two.lost, { kind: 'foreign', detail: /no subprotocol/ })

    const otherPath = openChannel(t, service.port, { path: '/other' })
    const three = send(otherPath)
    await settle(three)
    t.match(three.lost, {
      kind: 'foreign',
      detail: /the WebSocket handshake failed with status 400$/,
    })
  },
)

t.test('distinguishes a server of another protocol from an unavailable one', async (t) => {
  const rows: [string, string, RegExp][] = [
    ['HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n', 'foreign', /status 404/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nlate', 'foreign', /status 200/],
    ['HTTP/1.0 501 Not Implemented\r\n\r\n', 'foreign', /status 501/],
    ['HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n', 'connect', /status 503/],
    ['220 smtp.test ready\r\n', 'foreign', /Parse Error/],
  ]
  for (const [response, kind, detail] of rows) {
    const port = await openTcp(t, (socket) => socket.once('data', () => socket.write(response)))
    const call = send(openChannel(t, port))
    await settle(call)
    t.match(call.lost, { kind, detail }, response)
  }
})

t.test('a client stream that ends without a body is still a stream', async (t) => {
  const { dispatch, calls, events } = createTracker()
  const service = await openRpcService(t, dispatch)
  const channel = openChannel(t, service.port)
  const stream = { stream: true, more: true, body: '' }
  send(channel, stream).endData()
  await waitUntil(() => events[0]?.length === 1)
  t.ok(calls[0]!.more)
  t.strictSame(events[0], ['end'])
  const second = send(channel, stream)
  second.endData()
  t.throws(() => second.sendData('late'), /endData was already called/)
  await waitUntil(() => events[1]?.length === 1)
  t.strictSame(events[1], ['end'])
  const complete = send(channel, { ...stream, body: 'all' })
  complete.endData()
  await waitUntil(() => calls.length === 3)
  t.strictSame([String(calls[2]!.more), events[2]], ['true', ['end']])
})

t.test('a call that waits for a connection can be cancelled and time out', async (t) => {
  const port = await openTcp(t, () => {})
  const channel = openChannel(t, port, { maxWaiting: 3 })
  const late = send(channel, { timeoutMs: 30 })
  const cancelled = send(channel, { timeoutMs: 60_000 })
  const waiting = send(channel)
  const full = send(channel, { timeoutMs: 60_000 })
  t.match(full.lost, { kind: 'full', detail: 'too many calls are waiting' })
  cancelled.cancel()
  t.equal(channel.pending, 2)
  await settle(late)
  t.match(late.lost, { kind: 'timeout', detail: /^no connection to 127.0.0.1/ })
  t.equal(channel.pending, 1)
  t.equal(deadlines.size, 0)
  channel.close()
  t.match(waiting.lost, { kind: 'connect', detail: 'the channel was closed' })
  t.strictSame(cancelled.events, [])
})

t.test('rejects calls beyond maxCalls', async (t) => {
  const { dispatch } = createTracker()
  const service = await openRpcService(t, dispatch)
  const channel = openChannel(t, service.port, { maxCalls: 2 })
  const calls = [send(channel), send(channel)]
  await waitUntil(() => channel.connected)
  const full = send(channel)
  t.match(full.lost, { kind: 'full' })
  calls[0]!.cancel()
  t.strictSame(send(channel).events, [])
})

t.test('after GOAWAY new calls use a new connection, and calls in flight finish', async (t) => {
  const { dispatch, calls } = createTracker()
  const service = await openRpcService(t, dispatch)
  const channel = openChannel(t, service.port)
  const one = send(channel)
  await waitUntil(() => calls.length === 1)
  service.connections[0]!.goAway()
  // The call crosses the GOAWAY in transit, so it is sent again once.
  const two = send(channel, { timeoutMs: 60_000 })
  await waitUntil(() => calls.length === 2)
  t.equal(service.connections.length, 2)
  t.equal(channel.pending, 2)
  calls[1]!.reply('', 'new')
  t.strictSame(await settle(two), ['reply "" new'])
  calls[0]!.reply('', 'old')
  t.strictSame(await settle(one), ['reply "" old'])
  await waitUntil(() => service.sockets[0]!.readyState === service.sockets[0]!.CLOSED)
  t.equal(calls.length, 2)
  t.equal(deadlines.size, 0)
})

t.test('a call that is rejected by GOAWAY twice is not sent again', async (t) => {
  const service = await openRpcService(t, () => t.fail('not served'), {
    onSocket: (socket) => {
      const goAway = Buffer.from('04000000080000000000000000000000', 'hex')
      socket.on('message', () => socket.send(goAway))
    },
  })
  const channel = openChannel(t, service.port)
  const calls = Array.from({ length: 10 }, () => send(channel))
  for (const call of calls) t.strictSame(await settle(call), ['lost unsent'])
  t.equal(service.sockets.length, 2)
  t.equal(channel.pending, 0)
})

t.test('a lost connection fails its calls, and the next call reconnects', async (t) => {
  const { dispatch, calls } = createTracker()
  const service = await openRpcService(t, dispatch)
  const channel = openChannel(t, service.port)
  const one = send(channel)
  await waitUntil(() => calls.length === 1)
  service.sockets[0]!.terminate()
  t.strictSame(await settle(one), ['lost closed'])
  t.notOk(channel.connected)
  const two = send(channel)
  await waitUntil(() => calls.length === 2)
  calls[1]!.reply('', '')
  await settle(two)
  t.equal(service.sockets.length, 2)
})

t.test('pings a silent connection and closes it without a pong', async (t) => {
  const { dispatch, calls } = createTracker()
  const service = await openRpcService(t, dispatch, { autoPong: false })
  let pings = 0
  const channel = openChannel(t, service.port, { pingAfterMs: 300 })
  const one = send(channel)
  await waitUntil(() => calls.length === 1)
  service.sockets[0]!.on('ping', () => pings++)
  const start = performance.now()
  await settle(one)
  t.ok(performance.now() - start >= 400)
  t.ok(pings > 0)
  const { kind, detail } = one.lost!
  t.equal(kind, 'closed')
  const [, silentMs] = /^127\.0\.0\.1:\d+ was silent for (\d+) ms$/.exec(detail)!
  t.ok(Number(silentMs) >= 400, 'the actual silence')
})

t.test('a long response in transit keeps the connection open without a pong', async (t) => {
  const { dispatch, calls } = createTracker()
  const service = await openRpcService(t, dispatch, { autoPong: false })
  const channel = openChannel(t, service.port, { pingAfterMs: 600 })
  const one = send(channel)
  await waitUntil(() => calls.length === 1)
  const piece = Buffer.alloc(100, ' ')
  const pieceCount = 60
  // A message with a REPLY to stream 1, without metadata.
  const body = pieceCount * piece.length
  const head = Buffer.alloc(20)
  head.writeUInt16BE(0x827e)
  head.writeUInt16BE(16 + body, 2)
  head.writeUInt32LE(4 + body, 4)
  head[8] = 2
  head[12] = 1
  const tcp = (service.sockets[0] as unknown as { _socket: Socket })._socket
  tcp.write(head)
  for (let i = 0; i < pieceCount; i++) {
    await delay(50)
    tcp.write(piece)
  }
  await settle(one)
  t.equal(one.lost, undefined)
})

t.test(
  'a slow service that sends pongs keeps its calls, and an idle connection is not pinged',
  async (t) => {
    const { dispatch, calls } = createTracker()
    const service = await openRpcService(t, dispatch)
    let pings = 0
    const channel = openChannel(t, service.port, { pingAfterMs: 150 })
    const one = send(channel)
    await waitUntil(() => calls.length === 1)
    service.sockets[0]!.on('ping', () => pings++)
    await waitUntil(() => pings >= 4)
    t.strictSame(one.events, [])
    calls[0]!.reply('', '')
    await settle(one)
    const before = pings
    const start = performance.now()
    await waitUntil(() => performance.now() - start > 500)
    t.equal(pings, before)
    t.ok(channel.connected)
  },
)

t.test('a lost call can be sent again over another channel', async (t) => {
  const { dispatch, calls } = createTracker()
  const service = await openRpcService(t, dispatch)
  const unreachable = openChannel(t, await findClosedPort())
  const channel = openChannel(t, service.port)
  const call = send(unreachable, { stream: true, timeoutMs: 60_000 })
  await settle(call)
  channel.call(call)
  await waitUntil(() => calls.length === 1)
  calls[0]!.sendData('1')
  await settle(call, 2)
  service.sockets[0]!.terminate()
  await settle(call, 3)
  channel.call(call)
  await waitUntil(() => calls.length === 2)
  calls[1]!.reply('', 'complete')
  t.strictSame(await settle(call, 4), [
    'lost connect',
    'data 1',
    'lost closed',
    'reply "" complete',
  ])
  t.equal(deadlines.size, 0)
})

t.test('drain closes the connection after the calls in flight', async (t) => {
  const { dispatch, calls } = createTracker()
  const service = await openRpcService(t, dispatch)
  const channel = openChannel(t, service.port)
  const [one, two] = [send(channel), send(channel)]
  await waitUntil(() => calls.length === 2)
  channel.drain()
  const late = send(channel)
  t.match(late.lost, { kind: 'connect', detail: 'the channel was closed' })
  calls[0]!.reply('', '')
  await settle(one)
  t.ok(channel.connected)
  two.cancel()
  t.notOk(channel.connected)
  await waitUntil(() => service.sockets[0]!.readyState === service.sockets[0]!.CLOSED)
  const waiting = openChannel(t, service.port)
  const three = send(waiting)
  waiting.drain()
  await waitUntil(() => calls.length === 3)
  calls[2]!.reply('', '')
  t.strictSame(
    await settle(three),
    ['reply "" '],
    'calls that waited for the connection also complete',
  )
  t.notOk(waiting.connected)
})

t.test('close fails the calls in flight and cancels them at the service', async (t) => {
  const { dispatch, calls, events } = createTracker()
  const service = await openRpcService(t, dispatch)
  const channel = openChannel(t, service.port)
  const one = send(channel, { timeoutMs: 60_000 })
  await waitUntil(() => calls.length === 1)
  channel.close()
  t.match(one.lost, { kind: 'closed', detail: 'the channel was closed' })
  await waitUntil(() => events[0]!.length > 0)
  t.strictSame(events[0], ['cancel closed'])
  t.equal(channel.pending, 0)
  t.equal(deadlines.size, 0)
})

t.test('calls are balanced between several connections', async (t) => {
  const { dispatch, calls } = createTracker()
  const service = await openRpcService(t, dispatch)
  const channel = openChannel(t, service.port, { connections: 3 })
  const all = () => service.connections.filter(({ pending }) => pending > 0).length
  for (let i = 0; all() < 3; i++) {
    send(channel)
    await waitUntil(() => calls.length > i)
  }
  const before = service.connections.map(({ pending }) => pending)
  const served = calls.length
  for (let i = 0; i < 300; i++) send(channel)
  await waitUntil(() => calls.length === served + 300)
  const addedCalls = service.connections.map(({ pending }, i) => pending - before[i]!)
  t.strictSame(addedCalls, [100, 100, 100])
  t.equal(service.sockets.length, 3)
})

t.test('a protocol violation on one connection does not affect the others', async (t) => {
  const { dispatch, calls } = createTracker()
  const service = await openRpcService(t, dispatch)
  const channel = openChannel(t, service.port, { connections: 2 })
  const all = () => service.connections.filter(({ pending }) => pending > 0).length
  for (let i = 0; all() < 2; i++) {
    send(channel)
    await waitUntil(() => calls.length > i)
  }
  const pending = service.connections.map((connection) => connection.pending)
  service.sockets[0]!.send(Buffer.from('garbage instead of a frame'))
  await waitUntil(() => service.connections[0]!.closed)
  t.equal(service.connections[1]!.pending, pending[1])
  t.equal(channel.pending, pending[1])
})

t.test('verifies the certificate of a TLS connection', async (t) => {
  const certificate = createCertificate(['127.0.0.1'])
  const service = await openRpcService(t, echo, { certificate })
  const channel = openChannel(t, service.port, { secure: true, ca: certificate.cert })
  t.strictSame(await settle(send(channel, { body: 'x' })), ['reply "" x'])
  const tls = createUpstreamTls({ ca: certificate.cert })
  const configured = openChannel(t, service.port, { secure: true, tls })
  t.strictSame(await settle(send(configured, { body: 'x' })), ['reply "" x'])
  const untrusted = openChannel(t, service.port, { secure: true })
  const call = send(untrusted)
  await settle(call)
  t.match(call.lost, { kind: 'connect', detail: /self-signed certificate/ })
})

t.test('a connection without calls does not keep the process alive', async (t) => {
  const sockets = () =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
  // Sockets of the previous tests are still closing.
  await waitUntil(() => sockets() === 0)
  const { dispatch, calls } = createTracker()
  const service = await openRpcService(t, dispatch)
  const channel = openChannel(t, service.port)
  const one = send(channel)
  await waitUntil(() => calls.length === 1)
  t.equal(sockets(), 2, 'at both ends')
  calls[0]!.reply('', '')
  await settle(one)
  t.equal(sockets(), 1, "the service's socket only")
  const two = send(channel)
  t.equal(sockets(), 2)
  two.cancel()
  t.equal(sockets(), 1)
  const rejected = send(channel, { service: 's'.repeat(70_000) })
  t.equal(rejected.error?.code, 400)
  t.equal(sockets(), 1)
})

t.test('background calls do not keep the process alive', async (t) => {
  const sockets = () =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
  await waitUntil(() => sockets() === 0)
  const { dispatch, calls } = createTracker()
  const service = await openRpcService(t, dispatch)
  const channel = openChannel(t, service.port, { background: true })
  const call = send(channel)
  await waitUntil(() => calls.length === 1)
  t.equal(sockets(), 1, "the service's socket only")
  calls[0]!.reply('', '')
  t.same(await settle(call), ['reply "" '])
})
