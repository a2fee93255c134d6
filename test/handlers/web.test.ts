import { once } from 'node:events'
import t from 'tap'
import type { Plugin } from '../../core/chain.ts'
import { createUwsListener } from '../../core/listener/uws/listener.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import {
  connectWebSocket,
  openBackendServer,
  openWebGateway,
  rejectedWebSocket,
} from '../fixtures/web-gateway.ts'

t.test('forwards requests without an upgrade like the proxy handler', async (t) => {
  const backend = await openBackendServer(t, {}, async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    res.writeHead(201, { 'x-path': req.url ?? '' })
    res.end(`${req.method} ${Buffer.concat(chunks)}`)
  })
  const { port, served } = await openWebGateway(t, createUwsListener, [backend.port])
  const reply = await fetch(`http://127.0.0.1:${port}/app/a/b?c=1`, { method: 'POST', body: 'hi' })
  t.strictSame([reply.status, reply.headers.get('x-path')], [201, '/app/a/b?c=1'])
  t.equal(await reply.text(), 'POST hi')
  t.equal(served[0]?.node, `n-${backend.port}`)
})

t.test("a host set by a plugin replaces the client's host in the handshake", async (t) => {
  const backend = await openBackendServer(t)
  const hosts: string[][] = []
  backend.server.on('upgrade', ({ rawHeaders }) => {
    hosts.push(rawHeaders.filter((_, i) => rawHeaders[i - (i % 2)]!.toLowerCase() === 'host'))
  })
  for (const listener of Object.values(LISTENERS)) {
    const host: Plugin = {
      name: 'test-host',
      onRequest: (x) => x.headers.set('host', 'backend.test'),
    }
    const { port } = await openWebGateway(t, listener, [backend.port], { plugins: [host] })
    await connectWebSocket(t, port)
  }
  t.strictSame(hosts, [
    ['host', 'backend.test'],
    ['host', 'backend.test'],
  ])
})

t.test('counts an open WebSocket as an active request of its node', async (t) => {
  const backends = [await openBackendServer(t), await openBackendServer(t)]
  const ports = backends.map(({ port }) => port)
  const { port, upstream, gateway, served } = await openWebGateway(t, createUwsListener, ports)
  const clients = [await connectWebSocket(t, port), await connectWebSocket(t, port)]
  t.strictSame(
    upstream.nodes.map(({ active }) => active),
    [1, 1],
    'round-robin',
  )
  for (const client of clients) {
    const closed = once(client, 'close')
    client.close()
    await closed
  }
  await gateway.idle()
  t.strictSame(
    upstream.nodes.map(({ active }) => active),
    [0, 0],
  )
  t.ok(served[0]!.upstreamStartMs > 0)
  t.ok(served[0]!.upstreamReplyMs >= served[0]!.upstreamStartMs)
})

t.test('ejects backends with gateway errors in handshakes', async (t) => {
  const failing = await openBackendServer(t, {
    verifyClient: (_info, done) => done(false, 503, 'sick'),
  })
  const healthy = await openBackendServer(t)
  const { port, upstream } = await openWebGateway(t, createUwsListener, [
    failing.port,
    healthy.port,
  ])
  for (let i = 0; i < 3; i++) {
    t.equal((await rejectedWebSocket(port)).status, 503)
    await connectWebSocket(t, port)
  }
  t.equal(upstream.nodes[0]!.failures.ejections, 1)
  await connectWebSocket(t, port)
  await connectWebSocket(t, port)
})

t.test('rejects clients on the WebSocket transport of the call protocol', async (t) => {
  const backend = await openBackendServer(t)
  const { port } = await openWebGateway(t, createUwsListener, [backend.port])
  for (const path of ['/.mx/rpc', '/.mx/rpc?x=1']) {
    const { status, body } = await rejectedWebSocket(port, { path })
    t.equal(status, 404, path)
    t.match(JSON.parse(body), { Code: 404, Status: 'Not Found' })
  }
  t.same(backend.sockets, [])
})

for (const [name, listener] of Object.entries(LISTENERS))
  t.test(`${name}: connects a WebSocket to the registered addresses of its node`, async (t) => {
    const backend = await openBackendServer(t)
    const { port, upstream } = await openWebGateway(t, listener, [])
    const address = `pinned.invalid:${backend.port}`
    const node = { id: 'n', address, metadata: { resolved: '127.0.0.1' } }
    upstream.update([
      { name: upstream.name, version: 'latest', metadata: {}, endpoints: [], nodes: [node] },
    ])
    const client = await connectWebSocket(t, port)
    t.equal(backend.sockets.length, 1)
    client.close()
    await once(client, 'close')
  })
