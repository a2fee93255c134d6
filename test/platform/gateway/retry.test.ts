import { once } from 'node:events'
import { Agent, request as openRequest, type RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { openConfiguredGateway } from '../../fixtures/configured-gateway.ts'
import { listenHttp } from '../../fixtures/listen.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

/** A gateway with two nodes, the first of which receives the first request. */
async function open(t: Test, first: RequestListener, settings = '', routes = '') {
  const received = { first: 0, second: 0, bodies: [] as string[] }
  const one = await listenHttp(t, (request, reply) => {
    received.first++
    first(request, reply)
  })
  const two = await listenHttp(t, (request, reply) => {
    received.second++
    let body = ''
    request.setEncoding('latin1').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      received.bodies.push(body)
      reply.end('second')
    })
  })
  const nodes = `127.0.0.1:${one};1000, 127.0.0.1:${two};1`
  const gateway = await openConfiguredGateway(
    t,
    `services:\n  shop: { nodes: [${nodes}], outlier: off${settings} }\n${routes}`,
  )
  return { ...gateway, received }
}

const response =
  (status: number, ...fields: string[]): RequestListener =>
  (request, reply) => {
    request.resume().on('end', () => reply.writeHead(status, fields).end('first'))
  }

t.test('a GET with a 502, 503 or 504 response is sent to another node', async (t) => {
  for (const status of [502, 503, 504]) {
    const { send, received } = await open(t, response(status))
    t.match(await send('GET', '/shop/'), { status: 200, text: 'second' }, `${status}`)
    t.match(received, { first: 1, second: 1 })
  }
  const { send } = await open(t, response(500))
  t.match(await send('GET', '/shop/'), { status: 500, text: 'first' })
})

t.test('a streamed response is not relayed when the request is sent again', async (t) => {
  const { send } = await open(t, (_request, reply) => {
    reply.writeHead(503).write('part')
  })
  t.match(await send('GET', '/shop/'), { status: 200, text: 'second' })
})

t.test('a POST is repeated with its body only if it has an Idempotency-Key', async (t) => {
  const key = { 'idempotency-key': '"1"' }
  const small = await open(t, response(503))
  t.match(await small.send('POST', '/shop/', {}, 'a'), { status: 503, text: 'first' })
  for (const body of ['a', 'b'.repeat(64 * 1024)]) {
    const { send, received } = await open(t, response(503))
    t.match(await send('POST', '/shop/', key, body), { status: 200, text: 'second' })
    t.ok(received.bodies[0] === body, `${body.length} bytes`)
  }
  const large = await open(t, response(503))
  const reply = await large.send('POST', '/shop/', key, 'c'.repeat(64 * 1024 + 1))
  t.match(reply, { status: 503, text: 'first' }, 'more than 64 KiB')
})

t.test('a chunked body that is not complete yet is repeated', async (t) => {
  const { port, received } = await open(t, (_request, reply) => reply.writeHead(503).end('first'))
  const agent = new Agent()
  t.teardown(() => agent.destroy())
  const headers = { 'idempotency-key': '"1"', 'transfer-encoding': 'chunked' }
  const call = openRequest({ port, method: 'POST', path: '/shop/', headers, agent })
  call.write('one ')
  await waitUntil(() => received.first === 1 && received.second === 1)
  call.end('two')
  const [reply] = await once(call, 'response')
  t.equal(reply.statusCode, 200)
  reply.resume()
  t.strictSame(received.bodies, ['one two'])
})

t.test('a response with a Retry-After longer than the pause is not repeated', async (t) => {
  const { send, received } = await open(t, response(503, 'retry-after', '1'))
  t.match(await send('GET', '/shop/'), { status: 503, headers: { 'retry-after': '1' } })
  t.equal(received.second, 0)
})

t.test('a malformed, late or incomplete head of a response is sent to another node', async (t) => {
  const heads = [
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na',
    'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100),
    'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200',
  ]
  for (const head of heads) {
    const { send, received } = await open(
      t,
      ({ socket }) => socket.write(head),
      ', retry: { per_try_timeout: 200ms }',
    )
    t.match(await send('GET', '/shop/'), { status: 200, text: 'second' }, head.slice(0, 60))
    t.match(received, { first: 1, second: 1 })
  }
  const { send, received } = await open(t, ({ socket }) => socket.end('HTTP/1.1 200'))
  t.match(await send('GET', '/shop/'), { status: 200, text: 'second' }, 'lost')
  t.match(await send('POST', '/shop/'), { status: 502 }, 'POST')
  t.match(received, { first: 2, second: 1 })
})

t.test('after per_try_timeout a request is sent to another node', async (t) => {
  const { send } = await open(t, () => {}, ', retry: { per_try_timeout: 200ms }')
  t.match(await send('GET', '/shop/'), { status: 200, text: 'second' })
})

t.test('off disables retries of a service, and a route overrides it', async (t) => {
  const routes =
    'routes: [{ name: again, match: { path: /again/** }, service: shop, retry: { attempts: 2, on: [503] } }]'
  const { send } = await open(t, response(503), ', retry: off', routes)
  t.equal((await send('GET', '/shop/')).status, 503)
  t.equal((await send('GET', '/again/')).status, 200)
})

t.test('a client that disconnects during the pause frees its part of the budget', async (t) => {
  const retry = ', retry: { backoff: { base: 1h, max: 1h }, budget: 0%, min_concurrency: 1 }'
  const { port, send, received, reload } = await open(t, response(503), retry)
  const call = openRequest({ port, path: '/shop/' }).on('error', () => {})
  call.end()
  await waitUntil(() => received.first === 1)
  t.equal((await send('GET', '/shop/')).status, 503, 'the budget is used')
  call.destroy()
  await waitUntil(() => call.closed)
  await reload()
  const pending = openRequest({ port, path: '/shop/' }).on('error', () => {})
  t.teardown(() => pending.destroy())
  const before = received.first
  pending.end()
  await waitUntil(() => received.first === before + 1)
  t.equal((await send('GET', '/shop/')).status, 503, 'the third request uses the budget')
})

t.test('a service that fails completely gets at most 20 percent more requests', async (t) => {
  let count = 0
  const fail: RequestListener = (_request, reply) => {
    count++
    setImmediate(() => reply.writeHead(503).end())
  }
  const ports = [await listenHttp(t, fail), await listenHttp(t, fail)]
  const nodes = ports.map((port) => `127.0.0.1:${port}`).join(', ')
  const { port } = await openConfiguredGateway(t, `services: { shop: { nodes: [${nodes}] } }`)
  const agent = new Agent({ keepAlive: true, maxSockets: 50 })
  t.teardown(() => agent.destroy())
  const send = () =>
    new Promise<void>((resolve, reject) => {
      openRequest({ port, path: '/shop/', agent }, (reply) =>
        reply.resume().on('end', () => resolve()),
      )
        .on('error', reject)
        .end()
    })
  const requests = 2000
  await Promise.all(Array.from({ length: requests }, send))
  t.ok(count > requests, `${count} attempts`)
  t.ok(count <= requests * 1.2, `${count} attempts of ${requests} requests`)
})
