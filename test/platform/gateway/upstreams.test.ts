// Each `--balance` and each `--resolver` in a complete gateway in front of real backends.
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { fetchPage } from '../../../core/upstream/fetch-page.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import { clock } from '../../../lib/time/coarse-clock.ts'
import { configurationFrom } from '../../../platform/config/load.ts'
import { createUpstreams } from '../../../platform/gateway/upstreams.ts'
import { createLog } from '../../../platform/process/log.ts'
import { openApi } from '../../fixtures/api.ts'
import { listen, listenHttp } from '../../fixtures/listen.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'

/** Number of requests that cannot all reach the same of two nodes by chance. */
const REQUESTS = 64
const PAGE = { target: '/', host: 'shop', timeoutMs: 10_000, maxBytes: 1000 }

interface Backend {
  readonly address: string
  /** Pending responses to `/hold`. */
  readonly pending: ServerResponse[]
}

async function openBackend(t: Test, name: string): Promise<Backend> {
  const pending: ServerResponse[] = []
  return {
    address: `127.0.0.1:${await listenHttp(t, (req, res) => {
      if (req.url!.endsWith('/hold')) pending.push(res)
      else res.end(name)
    })}`,
    pending,
  }
}

async function sendRequest(port: number, path: string, headers: Record<string, string> = {}) {
  const sent = request({ host: '127.0.0.1', port, path, headers, agent: false }).end()
  const [reply] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of reply.setEncoding('utf8')) text += chunk
  const cookie = (reply.headers['set-cookie']?.[0] ?? '').split(';')[0]!
  return { status: reply.statusCode, text, cookie }
}

async function open(t: Test, balance: string, weight = '') {
  const [a, b] = [await openBackend(t, 'a'), await openBackend(t, 'b')]
  const { port } = await openApi(t, {
    MX_HANDLER: 'proxy',
    MX_BACKEND: `app=${a.address}${weight},${b.address}`,
    MX_BALANCE: balance,
    MX_ACCESS_LOG: 'off',
  })
  const names = async (
    count: number,
    toHeaders: (i: number) => Record<string, string> = () => ({}),
  ) => {
    const received: string[] = []
    for (let i = 0; i < count; i++)
      received.push((await sendRequest(port, '/app/x', toHeaders(i))).text)
    return received
  }
  return { a, b, port, names }
}

t.test('round-robin: selects nodes in turn by weight', async (t) => {
  const even = (await (await open(t, 'round-robin')).names(8)).join('')
  t.match(even, /^(ab)+$|^(ba)+$/)
  const weighted = await (await open(t, 'round-robin', ';3')).names(8)
  t.equal(weighted.filter((name) => name === 'a').length, 6)
})

t.test('random: selects any node', async (t) => {
  t.same(new Set(await (await open(t, 'random')).names(REQUESTS)), new Set(['a', 'b']))
})

t.test('least-conn and p2c: select the less busy node', async (t) => {
  for (const [balance, count, maxNodes] of [
    ['least-conn', 16, 0],
    ['p2c', 400, 150],
  ] as const) {
    const { a, b, port, names } = await open(t, balance)
    const slow = sendRequest(port, '/app/hold')
    await waitUntil(() => a.pending.length + b.pending.length === 1)
    const busy = a.pending.length === 1 ? 'a' : 'b'
    const busyCount = (await names(count)).filter((name) => name === busy).length
    t.ok(busyCount <= maxNodes, `${balance}: the busy node got ${busyCount} of ${count} requests`)
    for (const res of [...a.pending, ...b.pending]) res.end('held')
    t.equal((await slow).text, 'held')
  }
})

t.test('hash: the same key selects the same node', async (t) => {
  const rows: [string, (i: number) => Record<string, string>][] = [
    ['hash:header:x-user', (i) => ({ 'x-user': `u${i}` })],
    ['hash:cookie:sid', (i) => ({ cookie: `sid=s${i}` })],
  ]
  for (const [balance, toHeaders] of rows) {
    const { names } = await open(t, balance)
    const first = await names(REQUESTS, toHeaders)
    t.equal(new Set(first).size, 2, balance)
    t.same(await names(REQUESTS, toHeaders), first)
  }
  const byPath = await open(t, 'hash:path')
  const paths = Array.from({ length: REQUESTS }, (_, i) => `/app/${i}`)
  const requestAll = async () => {
    const received: string[] = []
    for (const path of paths) received.push((await sendRequest(byPath.port, path)).text)
    return received
  }
  const first = await requestAll()
  t.equal(new Set(first).size, 2)
  t.same(await requestAll(), first)
  t.equal(new Set(await (await open(t, 'hash:ip')).names(16)).size, 1)
})

t.test('sticky: a cookie binds a client to a node', async (t) => {
  const { port, names } = await open(t, 'sticky:node')
  const first = await sendRequest(port, '/app/x')
  t.match(first.cookie, /^node=./)
  t.same(new Set(await names(8, () => ({ cookie: first.cookie }))), new Set([first.text]))
  t.equal(new Set(await names(8)).size, 2, 'other services use round-robin')
})

const RESOLVED: [resolver: string, service: string, path: string, host: string, nowhere: string][] =
  [
    ['proxy', 'app', '/app/x', 'localhost', '/other/x'],
    ['proxy', 'go.mx.api.v1.app', '/v1/app/x', 'localhost', '/v2/app/x'],
    ['path', 'app', '/app/x', 'localhost', '/v1/app'],
    ['vpath', 'go.mx.api.v1.app', '/v1/app/x', 'localhost', '/app/x'],
    ['host', 'shop.example', '/any/thing', 'shop.example', ''],
    ['rpc', 'app', '/app/x', 'localhost', '/other/x'],
    ['endpoint', 'app', '/app/x', 'localhost', '/other/x'],
    ['grpc', 'app', '/app.Greeter/Hello', 'localhost', '/app/Hello'],
    ['subdomain:domain=example.com', 'staging.app', '/app/x', 'staging.example.com', '/other/x'],
  ]
for (const [resolver, service, path, host, unreachable] of RESOLVED) {
  t.test(`--resolver=${resolver}: ${host}${path} routes to ${service}`, async (t) => {
    const { address } = await openBackend(t, 'found')
    const { port } = await openApi(t, {
      MX_HANDLER: 'proxy',
      MX_RESOLVER: resolver,
      MX_ACCESS_LOG: 'off',
      MX_BACKEND: `${service}=${address}`,
    })
    t.match(await sendRequest(port, path, { host }), { status: 200, text: 'found' })
    const other =
      unreachable === ''
        ? await sendRequest(port, path)
        : await sendRequest(port, unreachable, { host })
    t.ok(other.status === 404 || other.status === 503, `${other.status}: ${other.text}`)
  })
}

t.test('keep_alive and max_connection_age apply to connections of all services', async (t) => {
  for (const [name, value] of [
    ['MX_KEEP_ALIVE', '1ms'],
    ['MX_MAX_CONNECTION_AGE', '1ms'],
    ['MX_KEEP_ALIVE', '60s'],
  ] as const) {
    let connections = 0
    const server = createServer((_req, res) => res.end('ok')).on('connection', () => connections++)
    const serverPort = await listen(t, server)
    const { port } = await openApi(t, {
      MX_HANDLER: 'proxy',
      MX_BACKEND: `app=127.0.0.1:${serverPort}`,
      MX_ACCESS_LOG: 'off',
      [name]: value,
    })
    for (let i = 0; i < 2; i++) {
      await sendRequest(port, '/app')
      const { nowMs } = clock
      // The clock of the connections is not mocked.
      await waitUntil(() => clock.nowMs > nowMs + 1)
    }
    t.equal(connections, value === '1ms' ? 2 : 1, `${name}=${value}`)
  }
})

t.test('a pool with a longer minimum keeps its connections beyond keep_alive', async (t) => {
  const load = configurationFrom(new Map(), { MX_KEEP_ALIVE: '1ms' }, 'server')
  const { of } = createUpstreams(await load(), {
    ...{ maxConnections: 10, findCaller: undefined, log: createLog('silent') },
  })
  let connections = 0
  const server = createServer((_, reply) => reply.end('ok')).on('connection', () => connections++)
  const port = await listen(t, server)
  const address = { host: '127.0.0.1', port, secure: false, pipeline: 1 }
  const counts: number[] = []
  for (const minKeepAliveMs of [0, 60_000]) {
    const upstream = new Upstream('shop', {
      createPool: () => of('shop').createPool({ ...address, minKeepAliveMs }),
    })
    upstream.update([makeService('shop', [makeNode(`127.0.0.1:${port}`)])])
    connections = 0
    for (let i = 0; i < 2; i++) {
      await fetchPage(upstream, PAGE)
      const { nowMs } = clock
      await waitUntil(() => clock.nowMs > nowMs + 1)
    }
    counts.push(connections)
    upstream.close()
  }
  t.strictSame(counts, [2, 1])
})

t.test('services of other namespaces have no Maglev table', async (t) => {
  const load = configurationFrom(new Map(), {}, 'server')
  const { of } = createUpstreams(await load(), {
    ...{ maxConnections: 1, findCaller: undefined, log: createLog('silent') },
  })
  const getBalance = (domain: string) =>
    of('shop', domain).onSettings!({ 'mx/balance': 'sticky:maglev:path' }).balance
  const hashOf = { from: 'path', name: '' }
  t.match(getBalance('mx'), { kind: 'maglev', hashOf, sticky: {} })
  t.match(getBalance('acme'), { kind: 'hash', hashOf, sticky: {} })
})
