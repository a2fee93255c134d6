import { once } from 'node:events'
import { mock } from 'node:test'
import t from 'tap'
import type { Exchange } from '../../../../../core/exchange.ts'
import { bodyMemory } from '../../../../../core/limits/memory-budget.ts'
import { createNodeListener } from '../../../../../core/listener/node/listener.ts'
import type { SocketReceiver } from '../../../../../core/listener/websocket/session.ts'
import { testServerSocket } from '../../../../contracts/server-socket.ts'
import { openListener } from '../../../../fixtures/open-listener.ts'
import { waitUntil } from '../../../../fixtures/raw-backend.ts'
import { RawClient } from '../../../../fixtures/raw-client.ts'
import { connectWebSocket, getClose } from '../../../../fixtures/web-gateway.ts'

testServerSocket({
  create: createNodeListener,
  name: 'node',
  clientClosed3000: ['3000'],
  invalidText: '1007',
  pausesClients: true,
})

const HANDSHAKE =
  'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
/** `hello`, masked with zeros. */
const HELLO = Buffer.from([0x81, 0x85, 0, 0, 0, 0, 0x68, 0x65, 0x6c, 0x6c, 0x6f])

const PING = Buffer.from([0x89, 0x81, 0, 0, 0, 0, 0x68])
/** Last frame of a fragmented message, with one byte. */
const END = Buffer.from([0x80, 0x81, 0, 0, 0, 0, 0x68])

function record(messages: string[], ends: string[]): SocketReceiver {
  return {
    onMessage: (data) => messages.push(Buffer.from(data).toString()),
    onDrain: () => {},
    onClose: (code, reason) => ends.push(`${code} ${reason}`),
  }
}

t.test('messages sent before the handshake response are delivered', async (t) => {
  const messages: string[] = []
  const handle = async (x: Exchange) => {
    while (x.path !== '/') await new Promise(setImmediate)
    for (let tick = 0; tick < 20; tick++) await new Promise(setImmediate)
    x.accept(record(messages, []))
  }
  const { port } = await openListener(t, createNodeListener, handle)
  const client = new RawClient(port)
  t.teardown(() => client.destroy())
  // Sent with the head and before the response; more than the listener reads ahead.
  client.send(Buffer.concat([Buffer.from(HANDSHAKE), HELLO, HELLO.subarray(0, 7)]))
  client.send(HELLO.subarray(7))
  for (let i = 0; i < 50_000; i++) client.send(HELLO)
  await waitUntil(() => messages.length === 50_002)
  t.ok(messages.every((message) => message === 'hello'))
})

t.test('counts incomplete messages, and closes the largest beyond the budget', async (t) => {
  const { maxBytes } = bodyMemory
  bodyMemory.maxBytes = 250_000
  t.teardown(() => {
    bodyMemory.maxBytes = maxBytes
  })
  const messages: string[] = []
  const { port } = await openListener(t, createNodeListener, (x) => {
    x.accept(record(messages, []))
  })
  const clients = [new RawClient(port), new RawClient(port)] as const
  t.teardown(() => clients.map((client) => client.destroy()))
  // A message of 190 000 bytes in frames without the last one.
  const frame = Buffer.concat([
    Buffer.from([0x02, 0xfe, 0xea, 0x60, 0, 0, 0, 0]),
    Buffer.alloc(60_000),
  ])
  const nextFrame = Buffer.from(frame).fill(0, 0, 1)
  for (const client of clients) {
    client.send(HANDSHAKE)
    await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
  }
  const [small, large] = clients
  small.send(Buffer.concat([frame, PING, nextFrame]))
  await waitUntil(() => bodyMemory.usedBytes === 2 * frame.length)
  large.send(Buffer.concat([frame, nextFrame, nextFrame]))
  await large.waitUntil(({ closed }) => closed)
  t.equal(bodyMemory.usedBytes, 2 * frame.length)
  small.send(Buffer.concat([END, ...new Array(100).fill(PING), HELLO]))
  await waitUntil(() => messages.length === 2)
  t.equal(messages[0]!.length, 120_001)
  t.equal(bodyMemory.usedBytes, 0)
})

t.test('an unmasked frame closes the WebSocket with 1002', async (t) => {
  const messages: string[] = []
  const ends: string[] = []
  const { port, gateway } = await openListener(t, createNodeListener, (x) => {
    x.accept(record(messages, ends))
  })
  const client = new RawClient(port)
  client.send(HANDSHAKE)
  await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
  client.send(Buffer.from([0x82, 1, 1]))
  await client.waitUntil(({ text }) => text.endsWith('\x88\x02\x03\xea'))
  client.socket.end()
  await gateway.idle()
  t.strictSame([messages, ends], [[], ['1002 malformed frame']])
  client.destroy()
})

t.test('pings a silent client and ends it without a pong, but not a paused one', async (t) => {
  const ends: string[] = []
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { port, gateway } = await openListener(t, createNodeListener, (x) => {
    const socket = x.accept(record([], ends))!
    if (x.path === '/held') socket.pause()
  })
  const [responses, silent, paused] = await Promise.all([
    connectWebSocket(t, port),
    connectWebSocket(t, port, [], { autoPong: false }),
    connectWebSocket(t, port, [], { autoPong: false, path: '/held' }),
  ])
  const closed = getClose(silent)
  const pings = { answers: 0, silent: 0, paused: 0 }
  responses.on('ping', () => pings.answers++)
  silent.on('ping', () => pings.silent++)
  paused.on('ping', () => pings.paused++)
  // The handshake counts as activity.
  mock.timers.tick(30_000)
  for (let round = 1; round <= 3; round++) {
    const pong = once(responses, 'ping')
    mock.timers.tick(30_000)
    await pong
    // The pong is in transit, and no event shows when the server has read it.
    await new Promise((resolve) => setTimeout(resolve, 20))
    mock.timers.tick(30_000)
  }
  t.equal(await closed, '1006')
  t.strictSame(pings, { answers: 3, silent: 1, paused: 0 })
  t.strictSame(ends, ['1006 '])
  t.equal(responses.readyState, responses.OPEN)
  t.equal(paused.readyState, paused.OPEN)
  responses.close()
  paused.terminate()
  await waitUntil(() => gateway.inFlight <= 1)
})
