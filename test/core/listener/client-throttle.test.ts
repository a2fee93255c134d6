// The order matters: the first test needs a process in which no client was throttled before.
import { createRequire } from 'node:module'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { loadTls } from '../../../core/listener/tls/tls.ts'
import { createUwsListener } from '../../../core/listener/uws/listener.ts'
import type { ServerSocket, SocketReceiver } from '../../../core/listener/websocket/session.ts'
import { createCertificate, createCertificateFolder } from '../../fixtures/certificates.ts'
import { openListener } from '../../fixtures/open-listener.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { connectWebSocket } from '../../fixtures/web-gateway.ts'

const KIB = 1024
const MIB = 1024 * KIB

const major = process.versions.node.split('.')[0]
const library = `@uwsjs/${process.platform}-${process.arch}-${major}`
const { version } = createRequire(import.meta.url)(`${library}/package.json`)
const skip = /^20\.51\./.test(version)
  ? false
  : 'this version of uWebSockets.js does not throttle clients'

async function open(t: Test, receiver: Partial<SocketReceiver>, isSecure = false) {
  let socket: ServerSocket | undefined
  const complete = { onMessage: () => {}, onDrain: () => {}, onClose: () => {}, ...receiver }
  const folder = createCertificateFolder(t)
  const certificate = createCertificate(['app.test'])
  const tls = isSecure ? loadTls([folder.write('app', certificate)]) : undefined
  t.teardown(() => tls?.close())
  const { port } = await openListener(
    t,
    createUwsListener,
    (x) => {
      socket = x.accept(complete)
    },
    tls === undefined ? {} : { tls },
  )
  const options = { ca: certificate.cert, servername: 'app.test' }
  const client = await connectWebSocket(t, port, [], isSecure ? options : {})
  return { client, socket: socket! }
}

for (const isSecure of [false, true]) {
  const variant = isSecure ? 'over TLS' : 'plain'
  t.test(
    `${variant}: resumes reading from the first throttled client, with 16 MiB pending for it`,
    { skip },
    async (t) => {
      const messages: string[] = []
      let drains = 0
      const { client, socket } = await open(
        t,
        {
          onMessage: (data) => messages.push(Buffer.from(data).toString()),
          onDrain: () => drains++,
        },
        isSecure,
      )
      client.pause()
      t.equal(socket.send(Buffer.alloc(16 * MIB), true), false)
      socket.pause()
      client.resume()
      await waitUntil(() => socket.bufferedBytes === 0)
      await waitUntil(() => drains === 1)
      socket.resume()
      client.send('read')
      await waitUntil(() => messages.length === 1)
      t.strictSame(messages, ['read'])
    },
  )
}

t.test(
  'long messages are echoed one by one, with the client paused between messages',
  { skip },
  async (t) => {
    const { client, socket } = await open(t, {
      onMessage: (data) => {
        if (!socket.send(data, true)) socket.pause()
      },
      onDrain: () => socket.resume(),
    })
    const received: number[] = []
    client.on('message', (data: Buffer) => received.push(data[data.length - 1]!))
    for (let i = 0; i < 4; i++) client.send(Buffer.alloc(16 * MIB - 10, i))
    await waitUntil(() => received.length === 4)
    t.strictSame(received, [0, 1, 2, 3])
  },
)

for (const variant of ['paused', 'resumed'] as const) {
  t.test(
    `onDrain is called when pending data is sent with the next message to a ${variant} client`,
    { skip },
    async (t) => {
      let drains = 0
      const { client, socket } = await open(t, { onDrain: () => drains++ })
      client.pause()
      while (socket.send(Buffer.alloc(64 * KIB), true)) {}
      // No timer flushes pending data.
      mock.timers.enable({ apis: ['setTimeout'] })
      try {
        socket.pause()
        client.resume()
        while (socket.bufferedBytes > 0) {
          socket.send('', true)
          await new Promise(setImmediate)
        }
        if (variant === 'paused') mock.timers.tick(25)
        else socket.resume()
      } finally {
        mock.timers.reset()
      }
      await waitUntil(() => drains === 1)
      t.equal(drains, 1)
    },
  )
}
