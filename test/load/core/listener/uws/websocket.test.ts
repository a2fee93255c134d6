import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { WebSocket } from 'ws'
import { createUwsListener } from '../../../../../core/listener/uws/listener.ts'
import { BackendWriter } from '../../../../../core/listener/websocket/backend-writer.ts'
import { testTunnel } from '../../../../contracts/tunnel.ts'
import { waitUntil } from '../../../../fixtures/raw-backend.ts'
import {
  connectWebSocket,
  getClose,
  nextMessage,
  openBackendServer,
  openWebGateway,
  rejectedWebSocket,
} from '../../../../fixtures/web-gateway.ts'

const KIB = 1024
const MIB = 1024 * KIB

const major = process.versions.node.split('.')[0]
const library = `@uwsjs/${process.platform}-${process.arch}-${major}`
const { version } = createRequire(import.meta.url)(`${library}/package.json`)

testTunnel({
  create: createUwsListener,
  name: 'uws',
  backendClosed: '1011 the backend disconnected',
  clientClosed3000: ['3000', '1005'],
  demandsMasks: false,
  pausesClients: /^20\.51\./.test(version),
})

t.test('limits the messages buffered for a stalled backend', async (t) => {
  for (const size of [64 * KIB, 100]) {
    const backend = await openBackendServer(t)
    const accepted = backend.accepted()
    const socket = new WebSocket(`ws://127.0.0.1:${backend.port}`, { perMessageDeflate: false })
    const [{ socket: connection }] = await once(socket, 'upgrade')
    const peer = await accepted
    peer.pause()
    let stalled = 0
    const writer = new BackendWriter(socket, connection, 4 * MIB, undefined, () => {
      stalled++
      writer.release(true)
    })
    const message = new ArrayBuffer(size)
    let sent = 0
    while (stalled === 0) {
      for (let i = 0; i < 100; i++) writer.send(message, true)
      sent += 100 * size
      await new Promise(setImmediate)
    }
    t.ok(socket.bufferedAmount < 4 * MIB + 110 * size, `${sent} bytes in messages of ${size}`)
    t.equal(stalled, 1)
    socket.terminate()
  }
})

t.test('messages of every header length reach the backend unchanged and in order', async (t) => {
  const backend = await openBackendServer(t)
  const { port, gateway } = await openWebGateway(t, createUwsListener, [backend.port])
  const accepted = backend.accepted()
  const client = await connectWebSocket(t, port)
  const peer = await accepted
  const lengths = [0, 125, 126, 16_383, 16_384, 16_385, 65_535, 65_536, MIB, MIB + 3, 5 * MIB + 1]
  const sent = [...lengths, ...lengths].map((length, i) => ({
    binary: i % 2 === 0,
    data: i % 2 === 0 ? randomBytes(length) : Buffer.from('ü'.repeat(length >> 1)),
  }))
  const received: { binary: boolean; data: Buffer }[] = []
  const all = new Promise<void>((resolve) => {
    peer.on('message', (data: Buffer, binary: boolean) => {
      received.push({ binary, data })
      if (received.length === sent.length) resolve()
    })
  })
  // Sent while the backend does not read, so that the rest is queued.
  peer.pause()
  for (const { data, binary } of sent) client.send(data, { binary })
  // The gateway buffers at most 12 MiB, and the kernel part of the rest.
  await Promise.race([waitUntil(() => client.bufferedAmount === 0), delay(1000)])
  peer.resume()
  await all
  for (const [i, { binary, data }] of sent.entries()) {
    t.equal(received[i]!.binary, binary)
    t.ok(received[i]!.data.equals(data), `message ${i} of ${data.length} bytes`)
  }
  client.close()
  await gateway.idle()
})

t.test('rejects a WebSocket beyond max_client_websockets with 503', async (t) => {
  const backend = await openBackendServer(t)
  const listener = { maxClientSockets: 2 }
  const { port } = await openWebGateway(t, createUwsListener, [backend.port], { listener })
  const first = await connectWebSocket(t, port)
  await connectWebSocket(t, port)
  const { status, headers, body } = await rejectedWebSocket(port)
  t.equal(status, 503)
  t.equal(headers['retry-after'], '1')
  t.match(JSON.parse(body).Detail, /2 open \(max_client_websockets\).*trusted_proxies/)
  const closed = once(backend.sockets[0]!, 'close')
  first.close()
  await closed
  await connectWebSocket(t, port)
})

t.test('a WebSocket whose handshake failed does not count', async (t) => {
  const backend = await openBackendServer(t, { verifyClient: () => false })
  const unusedBackend = await openBackendServer(t)
  unusedBackend.server.close()
  const listener = { maxClientSockets: 1 }
  for (const [to, status] of [
    [backend, 401],
    [unusedBackend, 502],
  ] as const) {
    const { port } = await openWebGateway(t, createUwsListener, [to.port], { listener })
    for (let i = 0; i < 3; i++) t.equal((await rejectedWebSocket(port)).status, status)
  }
})

t.test('forwards messages without a length limit', async (t) => {
  const backend = await openBackendServer(t)
  const unlimited = Number.POSITIVE_INFINITY
  const limit = { maxMessageBytes: unlimited, listener: { maxMessageBytes: unlimited } }
  const { port } = await openWebGateway(t, createUwsListener, [backend.port], limit)
  const accepted = backend.accepted()
  const client = await connectWebSocket(t, port)
  const received = nextMessage(await accepted)
  client.send('hello')
  t.equal(String(await received), 'hello')
})

t.test('ends a client that sends pings without reading', async (t) => {
  const backend = await openBackendServer(t)
  const limit = { maxMessageBytes: MIB, listener: { maxMessageBytes: MIB } }
  const { port, gateway } = await openWebGateway(t, createUwsListener, [backend.port], limit)
  const accepted = backend.accepted()
  const client = await connectWebSocket(t, port)
  const peer = await accepted
  client.pause()
  const closed = once(peer, 'close')
  const flood = (): void => {
    if (peer.readyState !== peer.OPEN) return
    for (let i = 0; i < 1000 && client.bufferedAmount < MIB; i++) client.ping('x'.repeat(100))
    setImmediate(flood)
  }
  flood()
  await closed
  client.terminate()
  await gateway.idle()
})

t.test('a text message that is not UTF-8 ends client and backend', async (t) => {
  const backend = await openBackendServer(t)
  const { port, gateway } = await openWebGateway(t, createUwsListener, [backend.port])
  const bad = Buffer.from([0x61, 0xff])
  for (const [from, clientEnd, backendEnd] of [
    ['client', '1006', '1007 invalid UTF-8'],
    ['backend', '1007 invalid UTF-8', '1007'],
  ] as const) {
    const accepted = backend.accepted()
    const client = await connectWebSocket(t, port)
    const peer = await accepted
    const ends = Promise.all([getClose(client), getClose(peer)])
    if (from === 'client') client.send(bad, { binary: false })
    else peer.send(bad, { binary: false })
    t.strictSame(await ends, [clientEnd, backendEnd], `from the ${from}`)
  }
  await gateway.idle()
})

t.test('a message far beyond the limit is not read and closes the backend with 1009', async (t) => {
  const backend = await openBackendServer(t)
  const limit = { maxMessageBytes: 64 * KIB, listener: { maxMessageBytes: 64 * KIB } }
  const { port } = await openWebGateway(t, createUwsListener, [backend.port], limit)
  const accepted = backend.accepted()
  const client = await connectWebSocket(t, port)
  const ends = Promise.all([getClose(client), getClose(await accepted)])
  client.send(Buffer.alloc(200 * KIB))
  t.strictSame(await ends, ['1006', '1009 message too long'])
})

t.test('the close code of a slow client reaches the backend', async (t) => {
  const backend = await openBackendServer(t)
  const { port, gateway } = await openWebGateway(t, createUwsListener, [backend.port])
  const accepted = backend.accepted()
  const client = await connectWebSocket(t, port)
  const peer = await accepted
  client.pause()
  for (let i = 0; i < 400; i++) peer.send(Buffer.alloc(64 * KIB))
  await waitUntil(() => peer.bufferedAmount > 0)
  const closed = getClose(peer)
  client.close(4001, 'enough')
  t.equal(await closed, '4001 enough')
  client.terminate()
  await gateway.idle()
})

t.test('logs the address of an open WebSocket and no fault', async (t) => {
  const backend = await openBackendServer(t)
  const { port, served, faults, gateway } = await openWebGateway(t, createUwsListener, [
    backend.port,
  ])
  const accepted = backend.accepted()
  const client = await connectWebSocket(t, port)
  const peer = await accepted
  peer.send('hello')
  t.equal(await nextMessage(client), 'hello')
  client.close(1000)
  await gateway.idle()
  t.match(served[0], { remoteAddress: '127.0.0.1', status: 101, aborted: false, bytesOut: 5 })
  t.strictSame(faults, [])
})
