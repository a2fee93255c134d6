import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { createNetwork } from '../../../domain/mesh/network.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { createNetworkService } from '../../../services/network/service.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { findServer, listRoutes, openServer, type TestServer } from '../../fixtures/network.ts'
import { createQuietLog, createService } from '../../fixtures/sdk-services.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'

/** Servers with these links, such as `a-b b-c`. */
async function openAll(t: Test, links: string): Promise<Record<string, TestServer>> {
  const servers: Record<string, TestServer> = {}
  for (const id of new Set(links.match(/\w+/g))) servers[id] = await openServer(t, id)
  for (const link of links.split(' ')) {
    const [from, to] = link.split('-').map((id) => servers[id]!)
    await from!.sendRequest('Connect', { nodes: [{ address: to!.address }] })
  }
  return servers
}

const isServedBy = (server: TestServer, service: string, at: unknown) => async () =>
  (await findServer(server, service)) === at

t.test("linked servers call each other's services in both directions", async (t) => {
  const { a, b } = await openAll(t, 'a-b')
  t.equal(await findServer(a!, 'greeter'), 404)
  await b!.serve('greeter')
  await a!.serve('users')
  await waitUntil(isServedBy(a!, 'greeter', 'b'))
  await waitUntil(isServedBy(b!, 'users', 'a'))
})

t.test(
  'line: calls and streams pass intermediate servers, and the metric is the sum of the links',
  async (t) => {
    const { a, b, c, d } = await openAll(t, 'a-b b-c c-d')
    await d!.serve('greeter')
    await waitUntil(isServedBy(a!, 'greeter', 'd'))
    t.strictSame(await listRoutes(a!, 'greeter'), ['b c d'])
    const numbers = Array.from({ length: 1000 }, (_, i) => i)
    const replies: unknown[] = []
    for await (const reply of a!.client.stream('greeter', 'A.Count', numbers)) replies.push(reply)
    t.strictSame(
      replies,
      numbers.map((n) => ({ n, text: 'd' })),
    )
    const metric = async (): Promise<number> => {
      const query = { service: 'greeter' }
      const { routes } = await a!.sendRequest<{ routes: { metric: number }[] }>('Routes', { query })
      return routes[0]!.metric
    }
    const cost = async (from: TestServer, to: string): Promise<number> =>
      (await from.status()).links.find(({ id }) => id === to)!.metric
    await waitUntil(
      async () =>
        (await metric()) === (await cost(a!, 'b')) + (await cost(b!, 'c')) + (await cost(c!, 'd')),
    )
    const [link] = (await b!.status()).links.filter(({ id }) => id === 'c')
    t.match(link, { calls: 2, failures: 0 })
    t.ok(link!.sent_bytes > 1000 && link!.received_bytes > 1000)
    await b!.client.call('greeter', 'A.Missing').catch(() => {})
    await b!.client.call('greeter', 'A.Where')
    const [later] = (await b!.status()).links.filter(({ id }) => id === 'c')
    t.match(later, { calls: 4, failures: 0 }, 'errors of callers do not count as failures')
  },
)

t.test(
  'star: leaves call services of other leaves, and receive 503 after one has closed',
  async (t) => {
    const { a, b, c } = await openAll(t, 'a-hub b-hub c-hub')
    await c!.serve('greeter')
    for (const leaf of [a!, b!]) await waitUntil(isServedBy(leaf, 'greeter', 'c'))
    await c!.close()
    for (const leaf of [a!, b!]) await waitUntil(isServedBy(leaf, 'greeter', 503))
  },
)

t.test(
  'ring: calls use the shorter path, and the other path after a server has closed',
  async (t) => {
    const { a, b, c } = await openAll(t, 'a-b b-c c-d d-e e-a')
    await c!.serve('greeter')
    await waitUntil(isServedBy(a!, 'greeter', 'c'))
    await waitUntil(async () => (await listRoutes(a!, 'greeter')).join() === 'b c')
    await b!.close()
    await waitUntil(async () => (await listRoutes(a!, 'greeter')).join() === 'e d c')
    t.equal(await findServer(a!, 'greeter'), 'c')
  },
)

t.test('a local service takes precedence over the same service of a peer', async (t) => {
  const { a, b } = await openAll(t, 'a-b')
  await b!.serve('greeter')
  await waitUntil(isServedBy(a!, 'greeter', 'b'))
  const local = await a!.serve('greeter')
  t.equal(await findServer(a!, 'greeter'), 'a')
  t.strictSame(await listRoutes(a!, 'greeter'), ['here'])
  for (let i = 0; i < 20; i++) t.equal(await findServer(a!, 'greeter'), 'a')
  await local.stop()
  t.equal(await findServer(a!, 'greeter'), 'b')
})

t.test('calls are balanced between servers at the same distance', async (t) => {
  const { a, b, c } = await openAll(t, 'a-b a-c')
  await b!.serve('greeter')
  await c!.serve('greeter')
  await waitUntil(async () => (await listRoutes(a!, 'greeter')).join() === 'b,c')
  const responses = new Set<unknown>()
  for (let i = 0; i < 20; i++) responses.add(await findServer(a!, 'greeter'))
  t.strictSame(responses, new Set(['b', 'c']))
})

t.test('no call fails while one of two servers with the same service closes', async (t) => {
  const { a, b, c } = await openAll(t, 'a-b a-c')
  await b!.serve('greeter')
  await c!.serve('greeter')
  await waitUntil(async () => (await listRoutes(a!, 'greeter')).join() === 'b,c')
  const responses: unknown[] = []
  let isClosed = false
  const call = async (): Promise<void> => {
    while (!isClosed) responses.push(await findServer(a!, 'greeter'))
    for (let i = 0; i < 20; i++) responses.push(await findServer(a!, 'greeter'))
  }
  const callers = Array.from({ length: 8 }, call)
  await waitUntil(() => responses.length > 100)
  await b!.close()
  isClosed = true
  await Promise.all(callers)
  t.strictSame(new Set(responses), new Set(['b', 'c']), `${responses.length} calls`)
  t.strictSame(new Set(responses.slice(-20)), new Set(['c']))
})

t.test('built-in services are not called across servers', async (t) => {
  const { a, b } = await openAll(t, 'a-b')
  await b!.serve('store')
  await b!.serve('greeter')
  await waitUntil(isServedBy(a!, 'greeter', 'b'))
  t.equal(await findServer(b!, 'store'), 'b')
  t.equal(await findServer(a!, 'store'), 404)
})

t.test('a call in a routing loop ends with 508', async (t) => {
  const { a, b } = await openAll(t, 'a-b')
  // Each registry claims that the other server has the service.
  for (const [at, to] of [
    [a!, b!],
    [b!, a!],
  ] as const)
    at.registry.register(makeService('loop', [makeNode(to.address, { protocol: 'mx' })]))
  await t.rejects(a!.client.call('loop', 'A.Where'), { code: 508, id: 'go.mx.proxy' })
})

t.test('deadline, metadata and errors of a call pass through two servers', async (t) => {
  const { a, c } = await openAll(t, 'a-b b-c')
  const service = createService(t, { name: 'greeter', registry: c!.registry }).handle('A', {
    where: endpoint({ handle: (_, ctx) => ({ id: ctx.id, namespace: ctx.namespace }) }),
    wait: endpoint({
      handle: (_, ctx) => new Promise((_, fail) => ctx.signal.addEventListener('abort', fail)),
    }),
    fail: endpoint({
      handle: () => {
        throw new Error('secret')
      },
    }),
  })
  await service.start()
  await waitUntil(async () => (await listRoutes(a!, 'greeter')).join() === 'b c')
  const metadata = { 'x-request-id': 'of-test' }
  const options = { namespace: 'shop', metadata }
  t.strictSame(await a!.client.call('greeter', 'A.Where', {}, options), {
    id: 'of-test',
    namespace: 'shop',
  })
  await t.rejects(a!.client.call('greeter', 'A.Wait', {}, { timeoutMs: 50 }), { code: 408 })
  await t.rejects(a!.client.call('greeter', 'A.Fail'), { code: 500, message: 'internal error' })
})

t.test('an invalid option throws a TypeError that names it', async (t) => {
  const registry = createMemoryRegistry()
  t.teardown(() => registry.close?.())
  const network = createNetwork({ id: 'a', registry })
  const { log } = createQuietLog()
  const invalid: [options: object, message: RegExp][] = [
    [{ networkName: 'a b' }, /^networkName must be 1 to 253 visible ASCII characters, got "a b"$/],
    [{ nodes: ['nowhere'] }, /^nodes must be host:port, mx:\/\/host:port or .*, got "nowhere"$/],
    [{ nodes: Array(65).fill('a:1') }, /^nodes must have at most 64 entries, got 65$/],
    [{ advertise: 'http://a:1' }, /^advertise must be host:port, .*, got "http:\/\/a:1"$/],
    [{ more: 1 }, /more/],
  ]
  for (const [options, message] of invalid)
    t.throws(
      () => createNetworkService({ network, registry, log, ...options }),
      { name: 'TypeError', message },
      String(message),
    )
})
