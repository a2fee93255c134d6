import { once } from 'node:events'
import t from 'tap'
import { createUwsListener } from '../../../core/listener/uws.ts'
import { testTunnel } from '../../contracts/tunnel.ts'
import {
  closeOf,
  connectWebSocket,
  nextMessage,
  openBackendServer,
  openWebGateway,
  until,
} from '../../fixtures/web-gateway.ts'

const KIB = 1024
const MIB = 1024 * KIB

testTunnel({
  create: createUwsListener,
  name: 'uws',
  backendDied: '1011 the backend is gone',
  clientClosed3000: ['3000', '1005'],
  demandsMasks: false,
})

for (const size of [64 * KIB, 100]) {
  t.test(
    `a client that floods a stalled backend with ${size} bytes each is ended with 1013`,
    async (t) => {
      const backend = await openBackendServer(t)
      const limit = { maxMessageBytes: MIB, listener: { maxMessageBytes: MIB } }
      const { port, gateway } = await openWebGateway(t, createUwsListener, [backend.port], limit)
      const accepted = backend.accepted()
      const client = await connectWebSocket(t, port)
      const peer = await accepted
      peer.pause()
      const end = closeOf(client)
      const before = process.memoryUsage().rss
      const message = Buffer.alloc(size)
      const flood = (): void => {
        if (client.readyState !== client.OPEN) return
        for (let i = 0; i < 1000 && client.bufferedAmount < 2 * MIB; i++) client.send(message)
        setImmediate(flood)
      }
      flood()
      t.equal(await end, '1013 the backend is too slow')
      const grown = process.memoryUsage().rss - before
      // Client and backend, whose buffers count too, live in this process.
      t.ok(grown < 100 * MIB, `${Math.round(grown / MIB)} MiB more`)
      peer.terminate()
      await gateway.idle()
    },
  )
}

t.test('a client that pings and never reads is ended', async (t) => {
  const backend = await openBackendServer(t)
  const limit = { maxMessageBytes: MIB, listener: { maxMessageBytes: MIB } }
  const { port, gateway } = await openWebGateway(t, createUwsListener, [backend.port], limit)
  const accepted = backend.accepted()
  const client = await connectWebSocket(t, port)
  const peer = await accepted
  client.pause()
  const gone = once(peer, 'close')
  const flood = (): void => {
    if (peer.readyState !== peer.OPEN) return
    for (let i = 0; i < 1000 && client.bufferedAmount < MIB; i++) client.ping('x'.repeat(100))
    setImmediate(flood)
  }
  flood()
  await gone
  client.terminate()
  await gateway.idle()
})

t.test('text that is not UTF-8 ends both sides', async (t) => {
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
    const ends = Promise.all([closeOf(client), closeOf(peer)])
    if (from === 'client') client.send(bad, { binary: false })
    else peer.send(bad, { binary: false })
    t.strictSame(await ends, [clientEnd, backendEnd], `from the ${from}`)
  }
  await gateway.idle()
})

t.test(
  'of a message far beyond the limit nothing is read, and the backend learns why',
  async (t) => {
    const backend = await openBackendServer(t)
    const limit = { maxMessageBytes: 64 * KIB, listener: { maxMessageBytes: 64 * KIB } }
    const { port } = await openWebGateway(t, createUwsListener, [backend.port], limit)
    const accepted = backend.accepted()
    const client = await connectWebSocket(t, port)
    const ends = Promise.all([closeOf(client), closeOf(await accepted)])
    client.send(Buffer.alloc(200 * KIB))
    t.strictSame(await ends, ['1006', '1009 message too long'])
  },
)

t.test('a WebSocket whose client was slow still ends with the code of the client', async (t) => {
  const backend = await openBackendServer(t)
  const { port, gateway } = await openWebGateway(t, createUwsListener, [backend.port])
  const accepted = backend.accepted()
  const client = await connectWebSocket(t, port)
  const peer = await accepted
  client.pause()
  for (let i = 0; i < 400; i++) peer.send(Buffer.alloc(64 * KIB))
  await until(() => peer.bufferedAmount > 0)
  const end = closeOf(peer)
  client.close(4001, 'enough')
  t.equal(await end, '4001 enough')
  client.terminate()
  await gateway.idle()
})

t.test('an open WebSocket keeps its address and is no fault of anyone', async (t) => {
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
