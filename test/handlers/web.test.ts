import { once } from 'node:events'
import t from 'tap'
import type { Plugin } from '../../core/chain.ts'
import { createUwsListener } from '../../core/listener/uws.ts'
import web from '../../handlers/web.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import {
  connectWebSocket,
  openBackendServer,
  openWebGateway,
  refusedWebSocket,
} from '../fixtures/web-gateway.ts'

t.test('without an upgrade it forwards like proxy: the whole path, body and reply', async (t) => {
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

t.test('origin policy', async (t) => {
  const page = (origin: string | undefined, host: string) => ({
    headers: { Host: host, ...(origin === undefined ? {} : { Origin: origin }) },
  })
  const rows = [
    ['any', 'https://evil.test', 'app.test', true],
    ['any', 'null', 'app.test', true],
    ['same-host', 'https://app.test', 'app.test', true],
    ['same-host', 'http://app.test:8080', 'app.test:8080', true],
    ['same-host', 'https://APP.test', 'app.test:443', true],
    ['same-host', undefined, 'app.test', true],
    ['same-host', 'https://app.test:8443', 'app.test', false],
    ['same-host', 'https://evil.test', 'app.test', false],
    ['same-host', 'https://app.test.evil.test', 'app.test', false],
    ['same-host', 'https://app.test@evil.test', 'app.test', false],
    ['same-host', 'null', 'app.test', false],
    ['same-host', '', 'app.test', false],
    ['same-host', 'file://app.test', 'app.test', false],
    [['https://a.test', 'http://b.test:81'], 'https://a.test', 'app.test', true],
    [['https://a.test', 'http://b.test:81'], 'http://B.test:81', 'app.test', true],
    [['https://a.test', 'http://b.test:81'], undefined, 'app.test', true],
    [['https://a.test', 'http://b.test:81'], 'http://a.test', 'app.test', false],
    [['https://a.test', 'http://b.test:81'], 'https://app.test', 'app.test', false],
    [[], 'https://a.test', 'app.test', false],
  ] as const
  for (const [origins, origin, host, allowed] of rows) {
    t.test(`${origins}: a page of ${origin ?? 'no origin'} at ${host}`, async (t) => {
      const backend = await openBackendServer(t)
      const { port } = await openWebGateway(t, createUwsListener, [backend.port], { origins })
      if (allowed) {
        const client = await connectWebSocket(t, port, [], page(origin, host))
        t.equal(client.readyState, client.OPEN)
        return
      }
      const { status, headers, body } = await refusedWebSocket(port, page(origin, host))
      t.equal(status, 403)
      t.match(headers['content-type'], 'application/json')
      t.match(JSON.parse(body), { Id: 'go.mx.web.app', Code: 403, Status: 'Forbidden' })
      t.equal(backend.sockets.length, 0)
    })
  }
})

t.test('the origin policy is for WebSockets: plain requests pass', async (t) => {
  const backend = await openBackendServer(t)
  const { port } = await openWebGateway(t, createUwsListener, [backend.port], { origins: [] })
  const reply = await fetch(`http://127.0.0.1:${port}/app`, {
    headers: { origin: 'https://x.test' },
  })
  t.equal(reply.status, 200)
})

t.test('a listed origin that is none is an error', (t) => {
  for (const wrong of [
    'app.test',
    'https://app.test/',
    'https://app.test/x',
    'https://*.app.test:x',
    '',
  ]) {
    t.throws(() => web({ origins: [wrong] }), {
      name: 'TypeError',
      message: `origin must be scheme and host as in https://app.example.com, got ${JSON.stringify(wrong)}`,
    })
  }
  t.end()
})

t.test('a host that a plugin set takes the place of the client’s in the handshake', async (t) => {
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

t.test('a node counts as busy as long as its WebSocket is open', async (t) => {
  const backends = [await openBackendServer(t), await openBackendServer(t)]
  const ports = backends.map(({ port }) => port)
  const { port, upstream, gateway, served } = await openWebGateway(t, createUwsListener, ports)
  const clients = [await connectWebSocket(t, port), await connectWebSocket(t, port)]
  t.strictSame(
    upstream.nodes.map(({ active }) => active),
    [1, 1],
    'nodes take turns',
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

t.test(
  'backends that answer gateway errors to handshakes are ejected like any others',
  async (t) => {
    const sick = await openBackendServer(t, {
      verifyClient: (_info, done) => done(false, 503, 'sick'),
    })
    const well = await openBackendServer(t)
    const { port, upstream } = await openWebGateway(t, createUwsListener, [sick.port, well.port])
    for (let i = 0; i < 5; i++) {
      t.equal((await refusedWebSocket(port)).status, 503)
      await connectWebSocket(t, port)
    }
    t.equal(upstream.nodes[0]!.ejections, 1)
    await connectWebSocket(t, port)
    await connectWebSocket(t, port)
  },
)

t.test('the way the platform calls services by is not open to clients', async (t) => {
  const backend = await openBackendServer(t)
  const { port } = await openWebGateway(t, createUwsListener, [backend.port])
  for (const path of ['/.mx/rpc', '/.mx/rpc?x=1']) {
    const { status, body } = await refusedWebSocket(port, { path })
    t.equal(status, 404, path)
    t.match(JSON.parse(body), { Code: 404, Status: 'Not Found' })
  }
  t.same(backend.sockets, [])
})
