import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server } from 'socket.io'
import { io, type Socket } from 'socket.io-client'
import t from 'tap'
import { openApi } from '../fixtures/api.ts'

const ANSWER_MS = 20_000

for (const listener of ['uws', 'node']) {
  t.test(`a socket.io chat behind mx api --handler=web --listener=${listener}`, async (t) => {
    const http = createServer()
    const chat = new Server(http, { path: '/chat/socket.io' })
    chat.on('connection', (socket) => {
      socket.on('say', (text: string) =>
        chat.emit('said', `${socket.handshake.auth['name']}: ${text}`),
      )
      socket.on('upload', (bytes: Buffer, done: (size: number) => void) => done(bytes.length))
    })
    http.listen(0, '127.0.0.1')
    await once(http, 'listening')
    t.teardown(() => chat.close())
    const api = await openApi(t, {
      MX_HANDLER: 'web',
      MX_LISTENER: listener,
      MX_BACKEND: `chat=127.0.0.1:${(http.address() as AddressInfo).port}`,
    })
    t.equal(api.listener, listener)

    const join = async (name: string): Promise<Socket> => {
      const socket = io(`http://127.0.0.1:${api.port}`, {
        path: '/chat/socket.io',
        auth: { name },
        forceNew: true,
        reconnection: false,
      })
      t.teardown(() => socket.disconnect())
      let first = ''
      const upgraded = acknowledged((done) =>
        // The upgrade may complete before this returns.
        socket.io.once('open', () => {
          first = socket.io.engine.transport.name
          socket.io.engine.once('upgrade', () => done())
        }),
      )
      await Promise.all([acknowledged((done) => socket.once('connect', () => done())), upgraded])
      t.equal(first, 'polling', 'starts with long polling')
      t.equal(socket.io.engine.transport.name, 'websocket', 'upgrades to a WebSocket')
      return socket
    }
    const [ann, bob] = await Promise.all([join('ann'), join('bob')])
    const receivedMessages: Record<string, string[]> = { ann: [], bob: [] }
    const conversation = ['ann: hello', 'bob: grüß dich', 'ann: ✓']
    const complete = [ann, bob].map((socket, i) =>
      acknowledged((done) => {
        const received = receivedMessages[i === 0 ? 'ann' : 'bob']!
        socket.on('said', (line: string) => {
          received.push(line)
          if (received.length === conversation.length) done()
          else if (received.length === 1 && i === 1) bob.emit('say', 'grüß dich')
          else if (received.length === 2 && i === 0) ann.emit('say', '✓')
        })
      }),
    )
    ann.emit('say', 'hello')
    await Promise.all(complete)
    t.strictSame(receivedMessages, { ann: conversation, bob: conversation })

    const size = await ann.timeout(ANSWER_MS).emitWithAck('upload', Buffer.alloc(900_000))
    t.equal(size, 900_000, 'bytes pass unchanged')

    const disconnected = acknowledged((done) => ann.once('disconnect', () => done()))
    await api.close()
    await disconnected
    t.equal(api.inFlight, 0)
  })
}

/** Resolves when `wait` calls back, and rejects on timeout. */
function acknowledged(wait: (done: () => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('no answer')), ANSWER_MS)
    wait(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
