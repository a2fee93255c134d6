import t, { type Test } from 'tap'
import { bodyMemory } from '../../../core/limits/memory-budget.ts'
import {
  countBuffered,
  cuts,
  mayBuffer,
  type RequestBuffer,
} from '../../../core/limits/request-buffers.ts'
import { LISTENERS, openGateway } from '../../fixtures/gateway.ts'
import { openRawBackend, waitUntil } from '../../fixtures/raw-backend.ts'
import { RawClient } from '../../fixtures/raw-client.ts'
import { connectWebSocket, openBackendServer, openWebGateway } from '../../fixtures/web-gateway.ts'

const MIB = 1024 * 1024

/** Limits the body memory of this process until the test ends. */
function allow(t: Test, bytes: number): void {
  const { maxBytes } = bodyMemory
  bodyMemory.maxBytes = bytes
  t.teardown(() => {
    bodyMemory.maxBytes = maxBytes
  })
}

function createBuffer(name: string, log: string[], isDroppable = true): RequestBuffer {
  return {
    bufferedBytes: 0,
    isDroppable,
    dropBufferedBody: (isLarge) => log.push(`${name}${isLarge ? ' (large)' : ''}`),
  }
}

t.test('a request that exceeds the budget evicts the request that buffers most', async (t) => {
  allow(t, 1000)
  const log: string[] = []
  const before = cuts.count
  const buffers = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => createBuffer(name, log))
  for (const [i, buffer] of buffers.entries()) countBuffered(buffer, 150 + i)
  t.strictSame(log, [])
  t.equal(bodyMemory.usedBytes, 915)
  countBuffered(buffers[0]!, 240)
  t.strictSame(log, ['a'], 'the request that grew is evicted')
  countBuffered(buffers[1]!, 400)
  t.strictSame(log, ['a', 'b (large)'])
  t.equal(cuts.count - before, 2)
  t.equal(bodyMemory.usedBytes, 152 + 153 + 154 + 155)
  for (const buffer of buffers) countBuffered(buffer, 0)
  t.equal(bodyMemory.usedBytes, 0)
})

t.test(
  'mayBuffer evicts only requests that buffer more than the claimant would buffer',
  async (t) => {
    allow(t, 1000)
    const log: string[] = []
    const complete = createBuffer('complete', log, false)
    const [large, small, claimant] = ['large', 'small', 'claimant'].map((n) => createBuffer(n, log))
    countBuffered(complete, 500)
    countBuffered(large!, 300)
    countBuffered(small!, 100)
    t.equal(mayBuffer(claimant!, 350), false, 'the claimant would buffer most')
    t.strictSame(log, [])
    t.equal(mayBuffer(claimant!, 150), true)
    t.strictSame(log, ['large (large)'], 'a buffer that cannot be cut is not evicted')
    for (const buffer of [complete, small!]) countBuffered(buffer, 0)
  },
)

for (const [name, listener] of Object.entries(LISTENERS)) {
  t.test(
    `${name}: an upload to a backend that does not read is rejected beyond the budget`,
    async (t) => {
      allow(t, 32_000)
      const backend = await openRawBackend(t, { isKeptAlive: false })
      const { port, gateway } = await openGateway(t, { app: [backend.port] }, { listener })
      const client = new RawClient(port)
      const accepted = backend.connection()
      client.send(`POST /app/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${64 * MIB}\r\n\r\n`)
      const { socket } = await accepted
      socket.pause()
      const piece = Buffer.alloc(64 * 1024)
      const send = () => {
        while (!client.closed && client.socket.writable && client.socket.write(piece));
      }
      client.socket.on('drain', send)
      send()
      await client.waitUntil(({ closed, text }) => closed || text.includes('\r\n\r\n'))
      if (client.text !== '') t.match(client.text, /^HTTP\/1\.1 413 .*max_buffered/s)
      client.socket.destroy()
      await waitUntil(() => gateway.inFlight === 0)
      t.equal(bodyMemory.usedBytes, 0)
    },
  )

  t.test(`${name}: a slow upload within the budget is paused and completes`, async (t) => {
    allow(t, 16 * MIB)
    const before = cuts.count
    const backend = await openRawBackend(t, { isKeptAlive: false })
    const { port } = await openGateway(t, { app: [backend.port] }, { listener })
    const accepted = backend.connection()
    const client = new RawClient(port)
    const bytes = 8 * MIB
    client.send(`POST /app/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`)
    const connection = await accepted
    connection.socket.pause()
    client.send(Buffer.alloc(bytes))
    await waitUntil(() => bodyMemory.usedBytes > 0)
    connection.socket.resume()
    await connection.waitUntil(() => connection.received >= bytes)
    connection.reply()
    await client.waitUntil(({ text }) => text.endsWith('ok'))
    await waitUntil(() => bodyMemory.usedBytes === 0)
    t.equal(cuts.count, before)
  })
}

t.test('a WebSocket that floods a backend is closed with 1013, and others continue', async (t) => {
  allow(t, MIB / 2)
  const backend = await openBackendServer(t)
  const { port } = await openWebGateway(t, LISTENERS.uws, [backend.port])
  const accepted = backend.accepted()
  const flooder = await connectWebSocket(t, port)
  const stalledPeer = await accepted
  stalledPeer.pause()
  const closed = new Promise((resolve) => flooder.once('close', resolve))
  // More than the kernel buffers for the backend, and less than the limit of one WebSocket.
  for (let i = 0; i < 24; i++) flooder.send(Buffer.alloc(MIB))
  t.equal(await closed, 1013)
  t.equal(bodyMemory.usedBytes, 0)
  const secondPeer = backend.accepted()
  const client = await connectWebSocket(t, port)
  const peer = await secondPeer
  const message = new Promise((resolve) => peer.once('message', (data) => resolve(String(data))))
  client.send('hello')
  t.equal(await message, 'hello')
  client.terminate()
})

t.test(
  'node: a WebSocket that floods a backend is paused without buffering in the gateway',
  async (t) => {
    allow(t, MIB / 2)
    const backend = await openBackendServer(t)
    const { port } = await openWebGateway(t, LISTENERS.node, [backend.port])
    const accepted = backend.accepted()
    const client = await connectWebSocket(t, port)
    const peer = await accepted
    peer.pause()
    let received = 0
    peer.on('message', (data: Buffer) => {
      received += data.length
    })
    for (let i = 0; i < 24; i++) client.send(Buffer.alloc(MIB))
    // Waits one round trip, so that the socket buffers fill up.
    t.equal((await fetch(`http://127.0.0.1:${port}/app/x`)).status, 200)
    t.ok(client.bufferedAmount > 0)
    t.equal(bodyMemory.usedBytes, 0)
    peer.resume()
    await waitUntil(() => received === 24 * MIB)
    client.terminate()
  },
)

t.test('messages buffered for a slow backend arrive in order and before the close', async (t) => {
  const backend = await openBackendServer(t)
  const { port } = await openWebGateway(t, LISTENERS.uws, [backend.port])
  const accepted = backend.accepted()
  const client = await connectWebSocket(t, port)
  const peer = await accepted
  peer.pause()
  const count = 400
  for (let i = 0; i < count; i++) {
    const message = Buffer.alloc(i % 2 === 0 ? 60_000 : 10, i)
    message.writeUInt16BE(i)
    client.send(message)
  }
  client.close(4001, 'done')
  await waitUntil(() => bodyMemory.usedBytes > 0)
  const order: number[] = []
  peer.on('message', (data: Buffer) => order.push(data.readUInt16BE(0)))
  const closed = new Promise((resolve) => peer.once('close', (code) => resolve(code)))
  peer.resume()
  t.equal(await closed, 4001)
  t.strictSame(
    order,
    Array.from({ length: count }, (_, i) => i),
  )
  t.equal(bodyMemory.usedBytes, 0)
})
