// Specification: "Service entry (registry)", "Registry endpoints", and "States and transitions": the registered node.
import t, { type Test } from 'tap'
import type { ServiceEntry } from '../../services/registry/entry.ts'
import { openApi } from '../fixtures/api.ts'
import { openPlatformRegistry, toRegistration } from '../fixtures/platform-registry.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const GREETER = toRegistration('greeter', ['127.0.0.1:9001'])

/** The registry service behind a gateway as in server mode, without a namespace. */
async function open(t: Test, listener = 'uws') {
  const { address, clock } = await openPlatformRegistry(t)
  const { port } = await openApi(t, {
    MX_ACCESS_LOG: 'off',
    MX_NAMESPACE: ' ',
    MX_BACKEND: `registry=mx://${address}`,
    MX_LISTENER: listener,
  })
  const origin = `http://127.0.0.1:${port}`
  const response = async (reply: Response) => ({ status: reply.status, body: await reply.json() })
  return {
    clock,
    origin,
    get: async (path: string) => response(await fetch(`${origin}/registry/${path}`)),
    post: async (path: string, body: object) =>
      response(
        await fetch(`${origin}/registry/${path}`, {
          method: 'POST',
          headers: JSON_TYPE,
          body: JSON.stringify(body),
        }),
      ),
  }
}

type Registry = Awaited<ReturnType<typeof open>>

/** The only version of a service. */
async function getEntry({ get }: Registry, service: string) {
  const { body } = await get(`getService?service=${service}`)
  return (body as { services: ServiceEntry[] }).services[0]!
}

/** Watches a service that is registered and deregistered until its deletion is received. */
async function observe({ origin, post }: Registry, headers: Record<string, string> = {}) {
  const watching = fetch(`${origin}/registry/watch?service=greeter`, { headers })
  let output = ''
  const hasEnded = (): boolean => output.includes('"delete"') && output.endsWith('\n')
  // The start of the watch is not observable, so the changes are repeated.
  const step = (async () => {
    while (!hasEnded()) {
      await post('register', GREETER)
      await post('register', toRegistration('greeter', ['127.0.0.1:9002']))
      await post('deregister', toRegistration('greeter', ['127.0.0.1:9001', '127.0.0.1:9002']))
    }
  })()
  const reply = await watching
  for await (const chunk of reply.body!) {
    output += Buffer.from(chunk).toString()
    if (hasEnded()) break
  }
  await step
  // Server-sent events start with a comment.
  const lines = output.split('\n').filter((line) => line !== '' && line !== ':')
  return { type: reply.headers.get('content-type'), lines }
}

for (const listener of ['uws', 'node']) {
  t.test(
    `${listener}: The registry service exposes: getService, listServices, register, deregister, watch.`,
    async (t) => {
      const registry = await open(t, listener)
      const { get, post } = registry
      t.strictSame(await post('register', GREETER), { status: 200, body: {} })
      t.match(await get('getService?service=greeter'), {
        status: 200,
        body: { services: [{ name: 'greeter' }] },
      })
      t.match(await get('listServices'), {
        status: 200,
        body: { services: [{ name: 'greeter' }, { name: 'registry' }] },
      })
      t.strictSame(await post('deregister', GREETER), { status: 200, body: {} })
      t.match(await get('getService?service=greeter'), { status: 404 })
      t.equal((await observe(registry)).type, 'application/x-ndjson')
    },
  )

  t.test(
    `${listener}: Registry watch is an endpoint for observing service changes: create, update and delete, with the time`,
    async (t) => {
      const registry = await open(t, listener)
      registry.clock.seconds = 7
      const { lines } = await observe(registry)
      for (const line of lines)
        t.match(JSON.parse(line), {
          action: /^(create|update|delete)$/,
          service: { name: 'greeter', version: 'latest' },
          timestamp: 7,
        })
      const sent = await observe(registry, { accept: 'text/event-stream' })
      t.equal(sent.type, 'text/event-stream')
      for (const line of sent.lines)
        t.match(JSON.parse(line.slice('data: '.length)), { timestamp: 7 })
    },
  )
}

t.test(
  'getService takes a GetRequest = { service string, options Options } and returns { services: [ServiceEntry] }',
  async (t) => {
    const { get, post } = await open(t)
    await post('register', { ...GREETER, options: { ttl: '30', domain: 'staging' } })
    const expected = [{ name: 'greeter', metadata: { domain: 'staging' } }]
    t.match(await get('getService?service=greeter&options.ttl=5&options.domain=staging'), {
      status: 200,
      body: { services: expected },
    })
    t.match(
      await post('getService', { service: 'greeter', options: { ttl: 5, domain: 'staging' } }),
      {
        status: 200,
        body: { services: expected },
      },
    )
    t.equal((await get('getService?service=greeter')).status, 404, 'not in the default domain')
  },
)

t.test('Options = { ttl int64, domain string }', async (t) => {
  const registry = await open(t)
  const { request } = (await getEntry(registry, 'registry')).endpoints.find(
    ({ name }) => name === 'Registry.GetService',
  )!
  t.strictSame(request.values, [
    { name: 'service', type: 'string', values: [] },
    {
      name: 'options',
      type: 'object',
      values: [
        { name: 'ttl', type: 'int64', values: [] },
        { name: 'domain', type: 'string', values: [] },
      ],
    },
  ])
})

t.test('an unknown service returns 404 with the error body', async (t) => {
  const { get } = await open(t)
  t.strictSame(await get('getService?service=unknown'), {
    status: 404,
    body: {
      Id: 'registry.Registry.GetService',
      Code: 404,
      Detail: 'service not found: unknown',
      Status: 'Not Found',
    },
  })
})

t.test('rejects an invalid registration with 400 and the path of the field', async (t) => {
  const { post } = await open(t)
  const { status, body } = await post('register', {
    ...GREETER,
    nodes: [{ id: 'a', address: 'b' }],
  })
  t.equal(status, 400)
  t.match(body, {
    Code: 400,
    Detail: 'request.nodes[0].address must be host:port or [IPv6]:port, got "b"',
    Status: 'Bad Request',
  })
})

t.test(
  '| name | string | service name | and | version | string | latest by default |',
  async (t) => {
    const registry = await open(t)
    await registry.post('register', GREETER)
    const { name, version } = await getEntry(registry, 'greeter')
    t.strictSame([name, version], ['greeter', 'latest'])
  },
)

t.test('| metadata | map string to string | includes domain |', async (t) => {
  const registry = await open(t)
  await registry.post('register', { ...GREETER, metadata: { owner: 'ann' } })
  t.strictSame((await getEntry(registry, 'greeter')).metadata, { owner: 'ann', domain: 'mx' })
})

t.test(
  'Endpoint: name (<Handler>.<Method>), request (Value), response (Value), metadata (stream = true marks a streaming endpoint)',
  async (t) => {
    const { endpoints } = await getEntry(await open(t), 'registry')
    const watch = endpoints.find(({ name }) => name === 'Registry.Watch')!
    t.strictSame(Object.keys(watch).sort(), ['metadata', 'name', 'request', 'response'])
    t.equal(watch.metadata['stream'], 'true')
    const streams = endpoints.filter(({ metadata }) => metadata['stream'] !== undefined)
    t.strictSame(streams, [watch])
  },
)

t.test(
  'Value: name (string), type (string), values (array of Value; empty for scalars)',
  async (t) => {
    const { endpoints } = await getEntry(await open(t), 'registry')
    const { request } = endpoints.find(({ name }) => name === 'Registry.Watch')!
    t.match(request, { name: 'WatchRequest', type: 'WatchRequest' })
    t.strictSame(request.values[0], { name: 'service', type: 'string', values: [] })
  },
)

t.test(
  'Node: id (string), address (string host:port), port (string), metadata (map)',
  async (t) => {
    const registry = await open(t)
    const metadata = { protocol: 'mx', server: 'node' }
    const nodes = [{ id: 'greeter-1', address: '127.0.0.1:9001', port: '0', metadata }]
    await registry.post('register', { name: 'greeter', nodes })
    t.strictSame((await getEntry(registry, 'greeter')).nodes, [
      { id: 'greeter-1', address: '127.0.0.1:9001', port: '9001', metadata },
    ])
    const registryNode = (await getEntry(registry, 'registry')).nodes[0]!
    t.match(registryNode.id, /^registry-[0-9a-f-]{36}$/)
    t.strictSame(Object.keys(registryNode.metadata).sort(), [
      'protocol',
      'registry',
      'server',
      'transport',
    ])
  },
)

t.test('| options | object | ttl (string or int64; 0 shown) and domain |', async (t) => {
  const registry = await open(t)
  for (const ttl of ['60', 60]) await registry.post('register', { ...GREETER, options: { ttl } })
  t.strictSame((await getEntry(registry, 'greeter')).options, { ttl: 0, domain: 'mx' })
})

t.test(
  'no re-registration within the TTL | TTL is 90 seconds | node is dropped from the registry',
  async (t) => {
    const { get, post, clock } = await open(t)
    await post('register', GREETER)
    clock.seconds = 89
    t.equal((await get('getService?service=greeter')).status, 200)
    clock.seconds = 90
    t.equal((await get('getService?service=greeter')).status, 404)
  },
)

t.test('re-registration (heartbeat) | before TTL | TTL restarts', async (t) => {
  const { get, post, clock } = await open(t)
  await post('register', GREETER)
  for (const seconds of [60, 120, 180]) {
    clock.seconds = seconds
    await post('register', GREETER)
  }
  clock.seconds = 269
  t.equal((await get('getService?service=greeter')).status, 200)
  clock.seconds = 270
  t.equal((await get('getService?service=greeter')).status, 404)
})

t.test('Registered services have a version (default latest): each is an entry', async (t) => {
  const { get, post } = await open(t)
  for (const version of ['v2', 'latest', 'v1']) await post('register', { ...GREETER, version })
  const { body } = await get('getService?service=greeter')
  t.strictSame(
    (body as { services: ServiceEntry[] }).services.map(({ version }) => version),
    ['latest', 'v1', 'v2'],
  )
})

t.test('pages: limit and after are query parameters, next is the cursor', async (t) => {
  const { get, post } = await open(t)
  for (const name of ['c', 'a', 'b']) await post('register', toRegistration(name, ['a:1']))
  const names: string[] = []
  let after = ''
  do {
    const { body } = await get(`listServices?limit=1&after=${encodeURIComponent(after)}`)
    const page = body as { services: ServiceEntry[]; next?: string }
    names.push(...page.services.map(({ name }) => name))
    after = page.next ?? ''
  } while (after !== '')
  t.strictSame(names, ['a', 'b', 'c', 'registry'])
})
