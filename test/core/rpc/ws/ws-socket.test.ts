import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { WsSocket } from '../../../../core/rpc/ws/ws-socket.ts'
import { tick, waitUntil } from '../../../fixtures/raw-backend.ts'

/** Opens both ends of a WebSocket, which record their events. */
async function openPair(t: Test) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
  await once(server, 'listening')
  t.teardown(() => {
    for (const client of server.clients) client.terminate()
    server.close()
  })
  const accepted = once(server, 'connection') as Promise<[WebSocket]>
  const { port } = server.address() as AddressInfo
  const options = { perMessageDeflate: false, generateMask: (mask: Buffer) => void mask.fill(0) }
  const client = new WebSocket(`ws://127.0.0.1:${port}`, options)
  await once(client, 'open')
  return [createEnd(client), createEnd((await accepted)[0])] as const
}

function createEnd(socket: WebSocket) {
  const messages: string[] = []
  const events: string[] = []
  const received = { bytes: 0 }
  const end = new WsSocket(socket, {
    onMessage: (data, binary) => {
      received.bytes += data.length
      messages.push(`${binary ? '' : 'text '}${Buffer.from(data).toString('latin1', 0, 100)}`)
    },
    onDrain: () => events.push('drain'),
    onClose: (code, reason) => events.push(`close ${code} ${reason}`),
  })
  return { end, socket, messages, events, received }
}

t.test('messages are sent unchanged even if their memory is reused after send', async (t) => {
  const [client, server] = await openPair(t)
  const memory = Buffer.alloc(100_000)
  for (let i = 0; i < 20; i++) {
    memory.fill(String.fromCharCode(97 + i))
    const length = i % 2 === 0 ? 50 : memory.length
    t.equal(client.end.send(memory.subarray(0, length)), i < 20)
    server.end.send(memory.subarray(0, length))
  }
  memory.fill(0)
  await waitUntil(() => server.messages.length === 20 && client.messages.length === 20)
  for (const { messages, received } of [server, client]) {
    t.equal(received.bytes, 10 * 50 + 10 * 100_000)
    for (const [i, message] of messages.entries()) {
      const letter = String.fromCharCode(97 + i)
      t.equal(message, letter.repeat(i % 2 === 0 ? 50 : 100))
    }
  }
})

t.test('text messages are distinguished from binary ones', async (t) => {
  const [client, server] = await openPair(t)
  client.socket.send('hello')
  await waitUntil(() => server.messages.length > 0)
  t.strictSame(server.messages, ['text hello'])
})

t.test('send returns false while the peer is slow, and onDrain follows', async (t) => {
  const [client, server] = await openPair(t)
  server.end.pause()
  await tick()
  const piece = Buffer.alloc(256 * 1024)
  let pieces = 1
  while (client.end.send(piece)) pieces++
  t.ok(client.end.bufferedBytes > 1024 * 1024)
  t.equal(client.end.send(piece), false, 'still slow')
  t.strictSame(client.events, [])
  server.end.resume()
  await waitUntil(() => client.events.length > 0)
  t.strictSame(client.events, ['drain'])
  t.ok(client.end.bufferedBytes <= 256 * 1024)
  t.equal(client.end.send(Buffer.from('x')), true)
  await waitUntil(() => server.messages.length === pieces + 3 - 1)
  t.equal(server.received.bytes, (pieces + 1) * piece.length + 1)
})

t.test('both ends receive the close, even while paused', async (t) => {
  const [client, server] = await openPair(t)
  client.end.pause()
  server.end.send(Buffer.from('last'))
  client.end.close(1002, 'wrong')
  await waitUntil(() => client.events.length > 0 && server.events.length > 0)
  t.strictSame(server.events, ['close 1002 wrong'])
  t.strictSame(client.events, ['close 1002 wrong'])
  t.doesNotThrow(() => client.end.send(Buffer.from('x')))
  t.doesNotThrow(() => client.end.close(1001, 'again'))
})

t.test('both ends of a terminated connection receive close 1006', async (t) => {
  const [client, server] = await openPair(t)
  client.end.terminate()
  await waitUntil(() => client.events.length > 0 && server.events.length > 0)
  t.match(server.events, [/^close 1006/])
  t.match(client.events, [/^close 1006/])
})

t.test('the close reason is the error of the WebSocket library', async (t) => {
  const [client, server] = await openPair(t)
  // A frame with a reserved opcode.
  const tcp = (client.socket as unknown as { _socket: NodeJS.WritableStream })._socket
  tcp.write(Buffer.from([0x83, 0x80, 0, 0, 0, 0]))
  await waitUntil(() => server.events.length > 0)
  t.match(server.events, [/^close 1006 Invalid WebSocket frame: invalid opcode 3/])
})
