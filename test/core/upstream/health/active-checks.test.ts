// Health checks of real servers, over each protocol.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import t, { type Test } from 'tap'
import { ActiveChecks, type CheckLoad } from '../../../../core/upstream/health/active-checks.ts'
import {
  DEFAULT_HEALTH,
  type HealthOptions,
} from '../../../../core/upstream/health/health-options.ts'
import type { CheckHandlers } from '../../../../core/upstream/health/shared-check.ts'
import type { PoolAddress } from '../../../../core/upstream/node/pool-address.ts'
import type { UpstreamNode } from '../../../../core/upstream/node/upstream-node.ts'
import { DEFAULT_POLICIES } from '../../../../core/upstream/policies/policies.ts'
import { Upstream } from '../../../../core/upstream/upstream.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { createTestPool } from '../../../fixtures/rpc-proxy.ts'
import { createService } from '../../../fixtures/sdk-services.ts'
import { makeNode, makeService } from '../../../fixtures/services.ts'

const FAST = { intervalMs: 10, unhealthyIntervalMs: 5, timeoutMs: 200 }

/** Checks of one node, and their events: `healthy`, or the reason for a failure. */
function watch(
  t: Test,
  port: number,
  options: Partial<HealthOptions>,
  protocol = 'http',
): { readonly node: UpstreamNode; readonly events: string[] } {
  const upstream = new Upstream('greeter', { createPool: createTestPool })
  upstream.update([makeService('greeter', [makeNode(`127.0.0.1:${port}`, { protocol })])])
  const [node] = upstream.nodes as [UpstreamNode]
  const events: string[] = []
  const checks = new ActiveChecks({ ...DEFAULT_HEALTH, ...FAST, ...options }, (_, reason) =>
    events.push(reason || 'healthy'),
  )
  checks.update([node])
  t.teardown(() => {
    checks.close()
    upstream.close()
  })
  return { node, events }
}

async function listen(t: Test, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

async function openHttp(t: Test, respond: RequestListener): Promise<number> {
  const server = createServer(respond)
  t.teardown(() => server.closeAllConnections())
  return listen(t, server)
}

t.test(
  'http: three failed checks make a node unhealthy, and two passed checks make it healthy',
  async (t) => {
    const statuses: number[] = []
    let status = 503
    const port = await openHttp(t, ({ url, method }, response) => {
      statuses.push(status)
      response.writeHead(url === '/healthz?a=1' && method === 'GET' ? status : 404).end()
    })
    const { node, events } = watch(t, port, { path: '/healthz?a=1' })
    await waitUntil(() => events.length === 1)
    t.strictSame([events[0], node.isUnhealthy], ['status 503, expected 200-399', true])
    t.equal(statuses.length, 3)
    status = 302
    await waitUntil(() => events.length === 2)
    t.strictSame([events[1], node.isUnhealthy], ['healthy', false])
    t.equal(statuses.filter((status) => status === 302).length, 2)
  },
)

t.test('http: checks share a connection unless they are rarer than one per minute', async (t) => {
  const keepAliveMs = { short: 0, long: 0 }
  for (const [key, intervalMs] of [
    ['short', 10_000],
    ['long', 90_000],
  ] as const) {
    const createPool = (address: PoolAddress) => {
      keepAliveMs[key] = address.minKeepAliveMs ?? -1
      return createTestPool(address)
    }
    const upstream = new Upstream('greeter', { createPool })
    upstream.update([makeService('greeter', [makeNode('127.0.0.1:1', { protocol: 'http' })])])
    const checks = new ActiveChecks({ ...DEFAULT_HEALTH, intervalMs }, () => {})
    checks.update(upstream.nodes)
    checks.close()
    upstream.close()
  }
  t.strictSame(keepAliveMs, { short: 12_000, long: 0 })
})

t.test('http: checks status and body on the configured port', async (t) => {
  const requests: string[] = []
  const port = await openHttp(t, (request, response) => {
    request.on('data', (chunk) => {
      requests.push(`${request.method} ${request.headers.host} ${chunk}`)
      response.writeHead(204).end()
    })
  })
  const options = { port, body: '{"a":1}', fails: 1 }
  const matching = watch(t, 1, { ...options, expect: [[204, 204]] })
  const mismatching = watch(t, 1, { ...options, expect: [[200, 203]] })
  await waitUntil(() => mismatching.events.length === 1 && requests.length > 4)
  t.strictSame([mismatching.events[0], matching.events], ['status 204, expected 200-203', []])
  t.equal(requests[0], 'POST 127.0.0.1:1 {"a":1}')
})

t.test('http: a node that is silent, closed or not HTTP is unhealthy', async (t) => {
  const silent = await openHttp(t, () => {})
  const otherProtocol = await listen(
    t,
    createTcpServer((socket) => void socket.on('error', () => {}).end('hello\r\n\r\n')),
  )
  const rows = [
    [silent, 'no response within 50 ms'],
    [otherProtocol, 'status line must be'],
    [1, 'ECONNREFUSED'],
  ] as const
  for (const [port, reason] of rows) {
    const { events } = watch(t, port, { fails: 1, timeoutMs: 50 })
    await waitUntil(() => events.length === 1)
    t.match(events[0], reason)
  }
})

t.test('tcp: an accepted connection suffices', async (t) => {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections++
    socket.on('error', () => {})
  })
  const open = watch(t, await listen(t, server), { type: 'tcp', fails: 1 })
  const closed = watch(t, 1, { type: 'tcp', fails: 1 })
  await waitUntil(() => closed.events.length === 1 && connections > 2)
  t.match(closed.events[0], 'ECONNREFUSED')
  t.strictSame(open.events, [])
})

t.test('grpc: the response must be SERVING', async (t) => {
  let reply = [0x08, 0x01]
  const requests: string[] = []
  const server = createHttp2Server()
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('data', (chunk: Buffer) => requests.push(`${headers[':path']} ${chunk.subarray(7)}`))
    stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.on('error', () => {})
    stream.end(Buffer.from([0, 0, 0, 0, 2, ...reply]))
  })
  const options = { type: 'grpc', path: 'shop.Cart', fails: 1, passes: 1 } as const
  const { events } = watch(t, await listen(t, server), options, 'grpc')
  await waitUntil(() => requests.length > 2)
  t.strictSame(events, [])
  t.equal(requests[0], '/grpc.health.v1.Health/Check shop.Cart')
  reply = [0x08, 0x02]
  await waitUntil(() => events.length === 1)
  t.equal(events[0], 'status is not SERVING')
  const closed = watch(t, 1, options, 'grpc')
  await waitUntil(() => closed.events.length === 1)
  t.match(closed.events[0], 'ECONNREFUSED')
})

t.test('mx: sends the call Debug.Health', async (t) => {
  const service = createService(t, { name: 'greeter', address: '127.0.0.1:0' })
  await service.start()
  const port = Number(service.address!.split(':').at(-1))
  const { node, events } = watch(t, port, { type: 'mx', fails: 1, passes: 1 }, 'mx')
  await service.stop()
  await waitUntil(() => events.length === 1)
  t.ok(node.isUnhealthy)
})

t.test('closed checks leave the node healthy', async (t) => {
  const upstream = new Upstream('greeter', { createPool: createTestPool })
  upstream.update([makeService('greeter', ['127.0.0.1:1'])])
  t.teardown(() => upstream.close())
  const [node] = upstream.nodes as [UpstreamNode]
  const checks = new ActiveChecks({ ...DEFAULT_HEALTH, ...FAST, fails: 1 }, () => {})
  checks.update([node])
  await waitUntil(() => node.isUnhealthy)
  checks.close()
  t.notOk(node.isUnhealthy)
})

t.test('an unhealthy node is not picked while another is healthy', async (t) => {
  const port = await openHttp(t, (_, response) => void response.end())
  const health = { ...DEFAULT_HEALTH, ...FAST, fails: 1 }
  const changes: string[] = []
  const upstream = new Upstream('greeter', {
    createPool: createTestPool,
    policies: { ...DEFAULT_POLICIES, health },
    onHealth: (node) => changes.push(node.id),
  })
  t.teardown(() => upstream.close())
  const picked = () => new Set(Array.from({ length: 9 }, () => upstream.pick(undefined)?.port))
  upstream.update([makeService('greeter', [`127.0.0.1:${port}`, '127.0.0.1:1'])])
  await waitUntil(() => changes.length === 1)
  t.same(picked(), new Set([port]))
  upstream.update([makeService('greeter', ['127.0.0.1:1', '127.0.0.1:2'])])
  await waitUntil(() => changes.length === 2)
  t.same(picked(), new Set([1, 2]), 'below the panic threshold')
})

t.test(
  'a shared check starts when this process leads, and takes over the received state',
  async (t) => {
    let requests = 0
    const port = await listen(
      t,
      createServer((_request, response) => {
        requests++
        response.end()
      }),
    )
    const upstream = new Upstream('greeter', { createPool: createTestPool })
    t.teardown(() => upstream.close())
    upstream.update([makeService('greeter', [makeNode(`127.0.0.1:${port}`)])])
    const [node] = upstream.nodes as [UpstreamNode]
    const events: string[] = []
    const published: string[] = []
    let handlers: CheckHandlers | undefined
    let isClosed = false
    const close = (): void => {
      isClosed = true
    }
    const checks = new ActiveChecks(
      { ...DEFAULT_HEALTH, ...FAST },
      (_, reason) => events.push(reason || 'healthy'),
      (_key, status) => {
        handlers = status
        return { publish: (reason) => published.push(reason), close }
      },
    )
    checks.update([node])
    handlers!.receive('late')
    handlers!.receive('late')
    t.same([events, node.isUnhealthy, requests], [['late'], true, 0])
    handlers!.lead()
    await waitUntil(() => published.length === 1)
    t.same([events, published, node.isUnhealthy], [['late', 'healthy'], [''], false])
    t.ok(requests >= DEFAULT_HEALTH.passes)
    checks.close()
    t.ok(isClosed)
  },
)

t.test('more nodes than milliseconds in the interval are checked less often', async (t) => {
  const port = await openHttp(t, (_, response) => response.writeHead(503).end())
  const health: HealthOptions = { ...DEFAULT_HEALTH, ...FAST, fails: 1 }
  let changes = 0
  const checkLoad: CheckLoad = { nodes: 0 }
  const upstream = new Upstream('greeter', {
    createPool: createTestPool,
    policies: { ...DEFAULT_POLICIES, health },
    checkLoad,
    onHealth: () => changes++,
  })
  t.teardown(() => upstream.close())
  const nodes = Array.from({ length: 400 }, (_, i) => ({
    ...makeNode(`127.0.0.1:${port}`),
    id: `${i}`,
  }))
  const startMs = performance.now()
  upstream.update([makeService('greeter', nodes)])
  t.equal(checkLoad.nodes, 400)
  await waitUntil(() => changes === 400)
  t.ok(performance.now() - startMs > 200, 'not within unhealthy_interval')
  upstream.update([makeService('greeter', nodes.slice(0, 2))])
  t.equal(checkLoad.nodes, 2)
  upstream.close()
  t.equal(checkLoad.nodes, 0)
})

t.test('changes of ten thousand nodes take less than a second', async (t) => {
  const checks: CheckHandlers[] = []
  const upstream = new Upstream('greeter', {
    createPool: createTestPool,
    policies: { ...DEFAULT_POLICIES, health: DEFAULT_HEALTH, panicThreshold: 0 },
    shareCheck(_, handlers) {
      checks.push(handlers)
      return { publish() {}, close() {} }
    },
  })
  t.teardown(() => upstream.close())
  const nodes = Array.from({ length: 10_000 }, (_, i) => ({
    ...makeNode('127.0.0.1:1'),
    id: `${i}`,
  }))
  upstream.update([makeService('greeter', nodes)])
  const startMs = performance.now()
  for (const { receive } of checks.slice(1)) receive('down')
  t.equal(upstream.pick(undefined), upstream.nodes[0])
  t.ok(performance.now() - startMs < 1000)
})
