import t from 'tap'
import type { Exchange } from '../../../../../core/exchange.ts'
import { HeaderList } from '../../../../../core/http/headers.ts'
import { createNodeListener } from '../../../../../core/listener/node/listener.ts'
import { testListener } from '../../../../contracts/listener.ts'
import { openListener } from '../../../../fixtures/open-listener.ts'
import { RawClient } from '../../../../fixtures/raw-client.ts'

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='

testListener({ create: createNodeListener, name: 'node' })

t.test('OPTIONS * is served, and * with any other method is rejected with 400', async (t) => {
  const { port, served } = await openListener(t, createNodeListener, (x) => x.reply(204))
  const client = new RawClient(port)
  client.send('OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n')
  await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
  t.match(client.text, /^HTTP\/1.1 204 /)
  t.equal(served[0]!.path, '*')
  client.send('GET * HTTP/1.1\r\nHost: a.test\r\n\r\n')
  await client.waitUntil(({ text }) => text.includes('HTTP/1.1 400 '))
  client.destroy()
  for (const invalid of [
    'OPTIONS * HTTP/1.1\r\n\r\n',
    'OPTIONS *a HTTP/1.1\r\nHost: a.test\r\n\r\n',
  ]) {
    const other = new RawClient(port)
    other.send(invalid)
    await other.waitUntil(({ text }) => text.includes('\r\n\r\n'))
    t.match(other.text, /^HTTP\/1.1 400 /)
    other.destroy()
  }
  t.equal(served.length, 1)
})

t.test('a second close during the first one resolves', async (t) => {
  const { port, listener, served } = await openListener(t, createNodeListener, (x) => {
    x.accept({ onMessage: () => {}, onDrain: () => {}, onClose: () => {} })
  })
  const client = new RawClient(port)
  client.send(
    'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  )
  await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
  const first = listener.close()
  // The response to the close frame, after which both ends close.
  client.send(Buffer.from([0x88, 0x80, 0, 0, 0, 0]))
  await first
  t.equal(listener.connections, 1, 'the socket has not emitted close yet')
  await listener.close()
  await client.ended()
  while (!served[0]!.finished) await new Promise(setImmediate)
})

t.test('closes an idle client connection after client_keep_alive, by default 75 s', async (t) => {
  const request = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'
  const handle = (x: Exchange) => x.reply(200, 'ok')
  const short = await openListener(t, createNodeListener, handle, { clientKeepAliveMs: 50 })
  const client = new RawClient(short.port)
  await client.send(request).replies(1)
  await client.ended()
  const { port } = await openListener(t, createNodeListener, handle)
  const withDefault = new RawClient(port)
  const [reply] = await withDefault.send(request).replies(1)
  withDefault.destroy()
  t.match(
    reply,
    /\r\nkeep-alive: timeout=75\r\n/i,
    'the default exceeds the timeout of load balancers',
  )
})

t.test('serves a WebSocket handshake in HTTP/1.0 as a plain request', async (t) => {
  const { port, served } = await openListener(t, createNodeListener, (x) => x.reply(200, 'plain'))
  const client = new RawClient(port)
  const handshake = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
  client.send(`GET / HTTP/1.0\r\nHost: a.test\r\n${handshake}Sec-WebSocket-Key: ${KEY}\r\n\r\n`)
  await client.ended()
  t.match(client.text, /^HTTP\/1\.1 200 .*plain$/s)
  t.equal(served[0]!.upgrade, false)
})

t.test('ends a body of unknown length for HTTP/1.0 by closing the connection', async (t) => {
  const { port } = await openListener(t, createNodeListener, (x) => {
    if (x.path === '/known') return x.reply(200, 'known')
    x.start(200, new HeaderList(), -1)
    x.write(Buffer.from('12'))
    x.write(Buffer.from('345'))
    x.end()
  })
  const client = new RawClient(port)
  const sendRequest = (path: string) =>
    client.send(`GET ${path} HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n`)
  const [knownLength] = await sendRequest('/known').replies(1)
  t.match(knownLength, /\r\nconnection: keep-alive\r\n/i)
  client.text = ''
  await sendRequest('/unknown').ended()
  const [head, body] = client.text.split('\r\n\r\n')
  t.match(head, /\r\nconnection: close/i)
  t.notMatch(head, /transfer-encoding/i)
  t.equal(body, '12345')
})

t.test('sends an immediate response without 100 Continue', async (t) => {
  const { port } = await openListener(t, createNodeListener, (x) => x.reply(413, 'too long'))
  const client = new RawClient(port)
  client.send(
    'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\nExpect: 100-Continue\r\n\r\n',
  )
  await client.waitUntil(({ text }) => text.endsWith('too long'))
  client.destroy()
  t.match(client.text, /^HTTP\/1\.1 413 /)
})
