import { createRequire } from 'node:module'
import t from 'tap'
import { createUwsListener } from '../../../../../core/listener/uws/listener.ts'
import type { SocketReceiver } from '../../../../../core/listener/websocket/session.ts'
import { testServerSocket } from '../../../../contracts/server-socket.ts'
import { openListener } from '../../../../fixtures/open-listener.ts'
import { connectWebSocket, getClose, rejectedWebSocket } from '../../../../fixtures/web-gateway.ts'

const KIB = 1024
const MIB = 1024 * KIB

const major = process.versions.node.split('.')[0]
const library = `@uwsjs/${process.platform}-${process.arch}-${major}`
const { version } = createRequire(import.meta.url)(`${library}/package.json`)

testServerSocket({
  create: createUwsListener,
  name: 'uws',
  clientClosed3000: ['3000', '1005'],
  invalidText: '1006',
  pausesClients: /^20\.51\./.test(version),
})

function recordEnds(ends: string[]): SocketReceiver {
  return {
    onMessage: () => {},
    onDrain: () => {},
    onClose: (code, reason) => ends.push(`${code} ${reason}`),
  }
}

t.test(
  'a message far beyond the limit is not read and closes the WebSocket with 1009',
  async (t) => {
    const ends: string[] = []
    const { port, gateway, served } = await openListener(
      t,
      createUwsListener,
      (x) => void x.accept(recordEnds(ends)),
      { maxMessageBytes: 64 * KIB },
    )
    const client = await connectWebSocket(t, port)
    const closed = getClose(client)
    client.send(Buffer.alloc(200 * KIB))
    t.equal(await closed, '1006')
    await gateway.idle()
    t.strictSame(ends, ['1009 message too long'])
    t.match(served[0], { bytesIn: 0, aborted: true })
  },
)

t.test('rejects a WebSocket beyond max_client_websockets with 503', async (t) => {
  const ends: string[] = []
  const { port, gateway } = await openListener(
    t,
    createUwsListener,
    (x) => void x.accept(recordEnds(ends)),
    { maxClientSockets: 1 },
  )
  const client = await connectWebSocket(t, port)
  t.match(await rejectedWebSocket(port), { status: 503, body: /max_client_websockets/ })
  client.close()
  await gateway.idle()
  await connectWebSocket(t, port)
})

t.test('ends a client that sends pings without reading', async (t) => {
  const ends: string[] = []
  const { port, gateway } = await openListener(
    t,
    createUwsListener,
    (x) => void x.accept(recordEnds(ends)),
    { maxMessageBytes: MIB },
  )
  const client = await connectWebSocket(t, port)
  client.pause()
  while (ends.length === 0) {
    for (let i = 0; i < 1000 && client.bufferedAmount < MIB; i++) client.ping('x'.repeat(100))
    // The library detects it between two bursts.
    for (let round = 0; round < 10; round++) await new Promise(setImmediate)
  }
  client.terminate()
  await gateway.idle()
  t.strictSame(ends, ['1006 '])
})
