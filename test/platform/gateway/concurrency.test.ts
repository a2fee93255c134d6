import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { RequestMetrics } from '../../../core/metrics/request-metrics.ts'
import { readGateway } from '../../../platform/admin/metrics/read-gateway.ts'
import type { GatewayServer } from '../../../platform/gateway/types.ts'
import { openConfiguredGateway } from '../../fixtures/configured-gateway.ts'
import { listenHttp } from '../../fixtures/listen.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

/** A node that sends responses on request of the test. */
async function openNode(t: Test) {
  const pending: { path: string; reply: ServerResponse }[] = []
  const receivedPaths: string[] = []
  const port = await listenHttp(t, ({ url = '' }, reply) => {
    receivedPaths.push(url)
    pending.push({ path: url, reply })
  })
  return {
    ...{ port, pending, receivedPaths },
    release: () => pending.shift()!.reply.end('ok'),
  }
}

function open(port: number, path: string): { call: ClientRequest; status: Promise<number> } {
  const call = request({ host: '127.0.0.1', port, path, agent: false })
  const status = new Promise<number>((resolve) => {
    call.on('response', (reply: IncomingMessage) => {
      reply.resume()
      resolve(reply.statusCode!)
    })
    call.on('error', () => resolve(0))
  })
  call.end()
  return { call, status }
}

/** Metrics of the limit of the service shop. */
function readLimits({ measured }: GatewayServer): Record<string, number> {
  const metrics = readGateway(measured).filter(({ name }) =>
    /concurrency_limit|pending_requests/.test(name),
  )
  return Object.fromEntries(
    metrics.map(({ name, values }) => [
      name,
      values.find(({ labels }) => labels['service'] === 'go.mx.api.shop')?.value ?? -1,
    ]),
  )
}

const limited = (nodes: readonly number[], concurrency: string, extra = ''): string =>
  `services: { shop: { nodes: [${nodes.map((port) => `'127.0.0.1:${port}'`).join(', ')}], concurrency: ${concurrency} } }
${extra}`

t.test('rejects requests beyond limit and queue with 503 and the reason', async (t) => {
  const node = await openNode(t)
  const { gateway, port, send } = await openConfiguredGateway(
    t,
    limited([node.port], '{ limit: 1, queue: 1, queue_timeout: 1h }, plugins: [proxy-status]'),
  )
  const first = open(port, '/shop/1')
  await waitUntil(() => node.pending.length === 1)
  const second = open(port, '/shop/2')
  await waitUntil(() => gateway.inFlight === 2)
  t.strictSame(readLimits(gateway), {
    mx_upstream_concurrency_limit: 1,
    mx_upstream_pending_requests: 1,
  })
  const shed = await send('GET', '/shop/3')
  t.equal(shed.status, 503)
  t.equal(shed.headers['retry-after'], '1')
  t.match(shed.headers['proxy-status'], /error=connection_limit_reached/)
  t.match(
    JSON.parse(shed.text).Detail,
    /^go.mx.api.shop is overloaded: limit of 1 .*the queue \(1\) is full; see concurrency of the service/,
  )
  node.release()
  await waitUntil(() => node.pending.length === 1)
  node.release()
  t.strictSame([await first.status, await second.status], [200, 200])
  t.strictSame(node.receivedPaths, ['/shop/1', '/shop/2'])
})

t.test('a request that waits longer than queue_timeout is rejected with 503', async (t) => {
  const node = await openNode(t)
  const metrics = new RequestMetrics()
  const { port, send } = await openConfiguredGateway(
    t,
    limited([node.port], '{ limit: 1, queue_timeout: 20ms }'),
    { metrics },
  )
  const first = open(port, '/shop/')
  await waitUntil(() => node.pending.length === 1)
  const late = await send('GET', '/shop/')
  t.equal(late.status, 503)
  t.match(JSON.parse(late.text).Detail, /no slot became free within queue_timeout \(20 ms\)/)
  t.equal(metrics.services.of('go.mx.api.shop').overflows, 1)
  node.release()
  t.equal(await first.status, 200)
})

t.test('a client that disconnects leaves the queue, and frees its slot', async (t) => {
  const node = await openNode(t)
  const { gateway, port } = await openConfiguredGateway(
    t,
    limited([node.port], '{ limit: 1, queue: 1, queue_timeout: 1h }'),
  )
  const first = open(port, '/shop/1')
  await waitUntil(() => node.pending.length === 1)
  const disconnected = open(port, '/shop/2')
  await waitUntil(() => gateway.inFlight === 2)
  disconnected.call.destroy()
  await waitUntil(() => gateway.inFlight === 1)
  const third = open(port, '/shop/3')
  await waitUntil(() => gateway.inFlight === 2)
  first.call.destroy()
  await waitUntil(() => node.pending.length === 2)
  node.release()
  node.release()
  t.equal(await third.status, 200)
  t.strictSame(node.receivedPaths, ['/shop/1', '/shop/3'])
})

t.test('a critical request replaces a batch request in a full queue', async (t) => {
  const node = await openNode(t)
  const { gateway, port } = await openConfiguredGateway(
    t,
    limited(
      [node.port],
      '{ limit: 1, queue: 1, queue_timeout: 1h }',
      `routes:
  - { match: { path: /pay }, service: shop, priority: critical }
  - { match: { path: /report }, service: shop, priority: batch }`,
    ),
  )
  const first = open(port, '/shop/')
  await waitUntil(() => node.pending.length === 1)
  const batch = open(port, '/report')
  await waitUntil(() => gateway.inFlight === 2)
  const critical = open(port, '/pay')
  t.equal(await batch.status, 503)
  node.release()
  await waitUntil(() => node.pending.length === 1)
  node.release()
  t.strictSame([await first.status, await critical.status], [200, 200])
  t.strictSame(node.receivedPaths, ['/shop/', '/pay'])
})

t.test('a WebSocket occupies its slot until it closes', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const gateway = await openConfiguredGateway(t, limited([port], '{ limit: 1, queue: 0 }'), {
    handler: 'web',
  })
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/shop/`)
  await once(socket, 'open')
  t.equal((await gateway.send('GET', '/shop/')).status, 503)
  socket.close()
  await once(socket, 'close')
  await waitUntil(() => gateway.gateway.inFlight === 0)
  t.equal((await gateway.send('GET', '/shop/')).status, 426)
})

t.test('a reload with a higher limit loses no waiting request', async (t) => {
  const node = await openNode(t)
  const { gateway, port, reload } = await openConfiguredGateway(
    t,
    limited([node.port], '{ limit: 1, queue: 5, queue_timeout: 1h }'),
  )
  const calls = [open(port, '/shop/')]
  await waitUntil(() => node.pending.length === 1)
  for (let i = 0; i < 2; i++) calls.push(open(port, '/shop/'))
  await waitUntil(() => gateway.inFlight === 3)
  await reload(limited([node.port], '{ limit: 4, queue: 5, queue_timeout: 1h }'))
  calls.push(open(port, '/shop/'))
  await waitUntil(() => node.pending.length === 4)
  for (let i = 0; i < 4; i++) node.release()
  t.strictSame(await Promise.all(calls.map(({ status }) => status)), [200, 200, 200, 200])
})

t.test('with per: node, no node gets more requests than the limit', async (t) => {
  const nodes = [await openNode(t), await openNode(t)]
  const { port, send } = await openConfiguredGateway(
    t,
    `balance: hash:path
${limited(
  nodes.map((node) => node.port),
  '{ limit: 2, queue: 0, per: node }',
)}`,
  )
  const calls = []
  for (let i = 0; i < 4; i++) {
    calls.push(open(port, '/shop/same'))
    await waitUntil(() => nodes[0]!.pending.length + nodes[1]!.pending.length === i + 1)
  }
  t.strictSame(
    nodes.map(({ pending }) => pending.length),
    [2, 2],
  )
  t.equal((await send('GET', '/shop/same')).status, 503)
  for (const node of nodes) for (let i = 0; i < 2; i++) node.release()
  for (const { status } of calls) t.equal(await status, 200)
})

t.test('a route has its own limit, or none with off', async (t) => {
  const node = await openNode(t)
  const { port, send } = await openConfiguredGateway(
    t,
    limited(
      [node.port],
      '{ limit: 1, queue: 0 }',
      `routes:
  - { match: { path: /own }, service: shop, concurrency: { limit: 1 } }
  - { match: { path: /free }, service: shop, concurrency: off }`,
    ),
  )
  const calls = ['/shop/', '/own', '/free', '/free'].map((path) => open(port, path))
  await waitUntil(() => node.pending.length === 4)
  t.match(JSON.parse((await send('GET', '/own')).text).Detail, /see concurrency of route 1/)
  for (let i = 0; i < 4; i++) node.release()
  t.strictSame(await Promise.all(calls.map(({ status }) => status)), [200, 200, 200, 200])
})

t.test(
  'with per: account, requests of a client beyond its limit are rejected with 503',
  async (t) => {
    const node = await openNode(t)
    const { port, send } = await openConfiguredGateway(
      t,
      limited([node.port], '{ limit: 1, queue: 0, per: account }'),
    )
    const first = open(port, '/shop/')
    await waitUntil(() => node.pending.length === 1)
    t.match(await send('GET', '/shop/'), { status: 503, text: /per account reached/ })
    node.release()
    t.equal(await first.status, 200)
    const next = open(port, '/shop/')
    await waitUntil(() => node.pending.length === 1)
    node.release()
    t.equal(await next.status, 200)
  },
)

t.test(
  'a delayed event loop sheds batch requests first, then default requests, and never critical ones',
  async (t) => {
    const port = await listenHttp(t, (_request, reply) => reply.end('ok'))
    const { send } = await openConfiguredGateway(
      t,
      `shed_above: 100ms
services: { shop: { nodes: ['127.0.0.1:${port}'] } }
routes:
  - { match: { path: /critical }, service: shop, priority: critical }
  - { match: { path: /batch }, service: shop, priority: batch }`,
    )
    /** Delays the event loop, and returns the status of a request that arrives then. */
    const sendLate = async (path: string, ms: number) => {
      const status = send('GET', path)
      const endMs = performance.now() + ms
      while (performance.now() < endMs);
      return (await status).status
    }
    await send('GET', '/critical')
    t.equal(await sendLate('/batch', 400), 503)
    t.equal(await sendLate('/shop/', 400), 503)
    t.equal(await sendLate('/critical', 400), 200)
  },
)
