import { pino } from 'pino'
import t from 'tap'
import { waitUntil } from '../contracts/registry.ts'
import { openApi } from '../fixtures/api.ts'
import { startConsul } from '../fixtures/consul.ts'
import { listenHttp } from '../fixtures/listen.ts'
import { openServer } from '../fixtures/server.ts'

t.test(
  'a service in Consul is routed by its tags, and served during an outage of Consul',
  async (t) => {
    const consul = await startConsul(t)
    if (consul === undefined) return
    const port = await listenHttp(t, (request, response) => response.end(`orders ${request.url}`))
    const entry = { Name: 'orders', Address: '127.0.0.1', Port: port, Tags: ['mx.path=/orders/*'] }
    await consul.call('PUT', '/agent/service/register', entry)

    const api = await openApi(t, {
      MX_REGISTRY: `consul://127.0.0.1:${consul.port}`,
      MX_NAMESPACE: ' ',
      MX_ACCESS_LOG: 'off',
    })
    const get = async (path: string): Promise<string> => {
      const response = await fetch(`http://127.0.0.1:${api.port}${path}`)
      return `${response.status} ${await response.text()}`
    }
    await waitUntil(async () => (await get('/orders/7')).startsWith('200'))
    t.equal(await get('/orders/7'), '200 orders /orders/7')

    await consul.kill()
    for (let i = 0; i < 10; i++) t.equal(await get('/orders/8'), '200 orders /orders/8')
    await consul.start()

    const other = { Name: 'users', Address: '127.0.0.1', Port: port, Tags: ['mx.path=/users/*'] }
    await consul.call('PUT', '/agent/service/register', other)
    await waitUntil(async () => (await get('/users/1')).startsWith('200'))
    await consul.call('PUT', '/agent/service/deregister/users')
    await waitUntil(async () => (await get('/users/1')).startsWith('404'))
  },
)

t.test('a service in Consul without a passing instance returns 503 until one passes', async (t) => {
  const consul = await startConsul(t)
  if (consul === undefined) return
  const port = await listenHttp(t, (_, response) => response.end('orders'))
  const Check = { CheckID: 'health', TTL: '60s', Status: 'critical' }
  const Tags = ['mx.path=/orders']
  await consul.call('PUT', '/agent/service/register', {
    Name: 'orders',
    Address: '127.0.0.1',
    Port: port,
    Tags,
    Check,
  })
  const api = await openApi(t, {
    MX_REGISTRY: `consul://127.0.0.1:${consul.port}`,
    MX_NAMESPACE: ' ',
    MX_ACCESS_LOG: 'off',
  })
  const get = async (): Promise<number> =>
    (await fetch(`http://127.0.0.1:${api.port}/orders`)).status
  await waitUntil(async () => (await get()) === 503)
  for (const [action, status] of [
    ['pass', 200],
    ['fail', 503],
    ['pass', 200],
  ] as const) {
    await consul.call('PUT', `/agent/check/${action}/health`)
    await waitUntil(async () => (await get()) === status)
  }
})

t.test(
  'listServices returns the nodes of services in Consul, or 503 during an outage',
  async (t) => {
    const consul = await startConsul(t)
    if (consul === undefined) return
    const lines: Record<string, unknown>[] = []
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
    const registry = `--registry=consul://${consul.host}:${consul.port}`
    const { server, get, post, proxy } = await openServer(t, [registry], log)
    const node = { id: 'greeter-1', address: '127.0.0.1:9001' }
    t.equal((await post('/registry/register', { name: 'greeter', nodes: [node] })).status, 200)
    await waitUntil(
      async () => (await get('/registry/getService?service=greeter')).status === 200,
      20_000,
    )
    await waitUntil(async () => {
      const { body } = await get('/registry/listServices')
      return body.services.some(({ name }: { name: string }) => name === 'greeter')
    }, 20_000)
    const { body } = await get('/registry/listServices')
    const nodes = Object.fromEntries(
      body.services.map((service: { name: string; nodes: { address: string }[] }) => [
        service.name,
        service.nodes.map(({ address }) => address),
      ]),
    )
    const expected = server.services.map((name) => [name, [proxy]])
    t.same(nodes, { ...Object.fromEntries(expected), greeter: ['127.0.0.1:9001'] })

    await consul.kill()
    const paths = ['registry/listServices', 'registry/getService?service=unknown']
    for (const path of paths) {
      const answer = await get(`/${path}`)
      t.match(answer, {
        status: 503,
        body: { Detail: /^the registry consul is unavailable: Consul at [^ ]+ is unreachable: / },
      })
    }
    const other = { name: 'other', nodes: [{ id: 'other-1', address: '127.0.0.1:9002' }] }
    t.equal((await post('/registry/register', other)).status, 503)
    t.same(
      lines.filter(({ err, level }) => err !== undefined || Number(level) > 40),
      [],
      'no stack is logged',
    )
  },
)

t.test('a gateway on the registry of a server with Consul follows its node changes', async (t) => {
  const consul = await startConsul(t)
  if (consul === undefined) return
  const { proxy } = await openServer(t, [`--registry=consul://${consul.host}:${consul.port}`])
  const api = await openApi(t, {
    MX_REGISTRY: `mx://${proxy}`,
    MX_NAMESPACE: ' ',
    MX_ACCESS_LOG: 'off',
  })
  const get = async (): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${api.port}/orders/7`)
    return `${response.status} ${await response.text()}`
  }
  const register = async (id: string, tag: string): Promise<void> => {
    const port = await listenHttp(t, (_, response) => response.end(id))
    const entry = { ID: id, Name: 'orders', Address: '127.0.0.1', Port: port }
    await consul.call('PUT', '/agent/service/register', {
      ...entry,
      Tags: ['mx.path=/orders/*', tag],
    })
  }
  await register('one', 'a')
  await waitUntil(async () => (await get()) === '200 one', 20_000)
  await register('two', 'a')
  await consul.call('PUT', '/agent/service/deregister/one')
  await waitUntil(async () => (await get()) === '200 two', 20_000)
  await register('three', 'b')
  await consul.call('PUT', '/agent/service/deregister/two')
  await waitUntil(async () => (await get()) === '200 three', 20_000)
})
