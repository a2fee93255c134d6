import { once } from 'node:events'
import { performServerHandshake } from 'node:http2'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t from 'tap'
import { Http2Connection } from '../../../../core/listener/http2/connection.ts'
import type { CreateListener } from '../../../../core/listener/listener.ts'
import { NodeConnection } from '../../../../core/listener/node/connection.ts'
import { createNodeListener } from '../../../../core/listener/node/listener.ts'
import { RequestValidator } from '../../../../core/listener/request-validator.ts'
import { MAX_CHECKS, uploads } from '../../../../core/listener/upload-watchdog.ts'
import { createUwsListener } from '../../../../core/listener/uws/listener.ts'
import { clock } from '../../../../lib/time/coarse-clock.ts'
import { openGateway } from '../../../fixtures/gateway.ts'
import {
  END_STREAM,
  FRAME,
  Http2Raw,
  toBlock,
  toFrame,
  toRequest,
} from '../../../fixtures/http2-raw.ts'
import { openRawBackend } from '../../../fixtures/raw-backend.ts'
import { RawClient } from '../../../fixtures/raw-client.ts'
import type { Teardown } from '../../../fixtures/teardown.ts'

/** Longer than a response takes, shorter than any timeout. */
const QUIET_MS = 2000

const createHttp2Listener: CreateListener = (options) =>
  createNodeListener({ ...options, http2: 'cleartext' })

async function open(t: Teardown, listener: CreateListener = createHttp2Listener) {
  const backend = await openRawBackend(t)
  const { port, gateway } = await openGateway(t, { app: [backend.port] }, { listener })
  return { backend, port, gateway }
}

/** Sends a chunk before each check of the uploads, for the number of checks in half a minute. */
async function drip(send: () => void): Promise<void> {
  for (let check = 0; check <= MAX_CHECKS; check++) {
    send()
    await new Promise((resolve) => setImmediate(resolve))
    uploads.check()
  }
}

const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n'
const CHUNK = `${CHUNKED}5\r\nhello\r\n`

// Timeouts of the `uws` library (framing before the first chunk) are tested in slow-heads.test.ts.
for (const [description, start, piece, listeners = ['node']] of [
  ['a chunk size', CHUNKED, '0'],
  ['a chunk extension', `${CHUNKED}5;`, 'a'],
  ['a trailer', `${CHUNKED}0\r\nX: `, 'a'],
  ['trailers', `${CHUNKED}0\r\n`, 'X: y\r\n'],
  ['a trailer after a chunk', `${CHUNK}0\r\nX: `, 'a'],
  ['a chunk size after a chunk', CHUNK, '0', ['uws', 'node']],
  ['zeros in front of chunks of a byte', CHUNK, `${'0'.repeat(1000)}1\r\na\r\n`, ['uws', 'node']],
  ['chunks of a byte', CHUNK, '1\r\na\r\n', ['uws', 'node']],
  ['a body of known length', 'Content-Length: 9999\r\n\r\na', 'a', ['uws', 'node']],
  ['no bytes of a body of known length', 'Content-Length: 9999\r\n\r\n', '', ['uws', 'node']],
] as const) {
  for (const name of listeners)
    t.test(
      `${name}: ends an upload that drips ${description}, including at the backend`,
      async (t) => {
        const listener = name === 'uws' ? createUwsListener : createHttp2Listener
        const { backend, port, gateway } = await open(t, listener)
        const client = new RawClient(port)
        client.send(`POST /app HTTP/1.1\r\nHost: a\r\n${start}`)
        const connection = await backend.connection()
        await connection.request()
        await drip(() => client.send(piece))
        const { text } = await client.settle(QUIET_MS)
        t.match(text, /^HTTP\/1.1 408 .*the request body arrives too slowly/s)
        await connection.ended()
        await gateway.idle()
      },
    )
}

t.test(
  'uws: ends an upload with a chunk extension immediately, including at the backend',
  async (t) => {
    const { backend, port, gateway } = await open(t, createUwsListener)
    const client = new RawClient(port)
    client.send(`POST /app HTTP/1.1\r\nHost: a\r\n${CHUNK}`)
    const connection = await backend.connection()
    await connection.request()
    client.send('5;x')
    t.match(await client.settle(QUIET_MS), { closed: true, text: /^HTTP\/1.1 400 / })
    await connection.ended()
    await gateway.idle()
  },
)

for (const [description, flags, payload] of [
  ['empty DATA frames', 0, ''],
  ['padding', 8, '\x04\0\0\0\0'],
] as const) {
  t.test(`HTTP/2: ends an upload that drips ${description}`, async (t) => {
    const { backend, port, gateway } = await open(t)
    const raw = new Http2Raw(port)
    const stream = raw.open(toRequest('/app').with(1, 'POST'), 0)
    const connection = await backend.connection()
    await connection.request()
    await drip(() => raw.send(toFrame(FRAME.DATA, flags, stream, Buffer.from(payload, 'latin1'))))
    const body = await raw.waitUntil(({ type }) => type === FRAME.DATA)
    t.match(body.payload.toString(), /the request body arrives too slowly/)
    await connection.ended()
    await gateway.idle()
    raw.destroy()
  })
}

t.test('HTTP/2: ends an upload that drips trailers', async (t) => {
  const { backend, port, gateway } = await open(t)
  const raw = new Http2Raw(port)
  const stream = raw.open(toRequest('/app').with(1, 'POST'), 0)
  const connection = await backend.connection()
  await connection.request()
  raw.send(toFrame(FRAME.HEADERS, END_STREAM, stream, toBlock(['x-a', 'b'])))
  const part = toFrame(FRAME.CONTINUATION, 0, stream, toBlock(['x-a', 'b']))
  // nghttp2 ends a connection after a number of these frames, so fewer are sent.
  let sent = 0
  await drip(() => sent++ < 3 && raw.send(part))
  await connection.ended()
  await gateway.idle()
  raw.destroy()
})

t.test('HTTP/2: closes a connection whose only request never completes its head', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const raw = new Http2Raw((server.address() as AddressInfo).port)
  t.teardown(() => raw.destroy())
  const [socket] = (await once(server, 'connection')) as [Socket]
  const session = performServerHandshake(socket)
  const serving = {
    guard: new RequestValidator(),
    secure: false,
    handle: () => t.fail('a request was served'),
    keepAliveMs: 60_000,
  }
  const connection = new Http2Connection(session, socket, serving)
  await once(session, 'remoteSettings')
  raw.send(toFrame(FRAME.HEADERS, END_STREAM, 1, toBlock(toRequest('/'))))
  for (let round = 0; round < 3; round++) {
    raw.send(toFrame(FRAME.CONTINUATION, 0, 1, toBlock(['x-a', 'b'])))
    connection.sweep(clock.nowMs + 59_000)
    t.notOk(session.closed)
  }
  connection.sweep(clock.nowMs + 61_000)
  connection.sweep(clock.nowMs + 11_000)
  await raw.client.ended()
})

t.test('closes a connection that receives only line ends between requests', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const client = new RawClient((server.address() as AddressInfo).port)
  const [socket] = (await once(server, 'connection')) as [Socket]
  const connection = new NodeConnection(socket, () => {}, 0, 60_000)
  client.send('\r\n\r\n')
  await once(socket, 'data')
  connection.sweep(clock.nowMs + 69_000)
  t.notOk(socket.destroyed)
  connection.sweep(clock.nowMs + 71_000)
  await client.ended()
})
