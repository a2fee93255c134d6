import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { configurationFrom } from '../../../platform/config/load.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { createPlatformBroker } from '../../../sdk/broker/platform-broker.ts'
import type { Client } from '../../../sdk/client/client.ts'
import { createEvents } from '../../../sdk/events/events.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { createStore } from '../../../sdk/store/store.ts'
import { makeSecretKey } from '../../../services/config/secrets/secret-key.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { useKubeconfig } from '../../fixtures/kubeconfig.ts'
import { openKubernetesApi } from '../../fixtures/kubernetes-api.ts'
import { makeKubernetesService, makeSlice } from '../../fixtures/kubernetes-objects.ts'
import { listen, listenHttp } from '../../fixtures/listen.ts'
import { startNats } from '../../fixtures/nats.ts'
import { createService, openClient } from '../../fixtures/sdk-services.ts'
import { ADMIN, openServer, QUIET_FLAGS } from '../../fixtures/server.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.setTimeout(120_000)

/** Messages of a topic after the subscription. */
async function receive(t: Test, client: Client, topic: string): Promise<Record<string, unknown>[]> {
  const broker = createPlatformBroker({ client })
  t.teardown(() => broker.close?.())
  const received: Record<string, unknown>[] = []
  await broker.subscribe(topic, ({ body }) => {
    received.push(JSON.parse(Buffer.from(body).toString()))
  })
  return received
}

const inFiles = (folder: string): string[] => [
  '--store=lmdb',
  '--events=lmdb',
  '--config_secret_key=file',
  `--data_dir=${folder}`,
]

t.test('in-memory state leaves no files', async (t) => {
  const folder = join(makeTempFolder(t, 'server'), 'state')
  const { server } = await openServer(t, [`--data_dir=${folder}`])
  t.equal(server.folder, undefined)
  t.notOk(existsSync(folder))
})

t.test('state in files survives a restart', async (t) => {
  const folder = join(makeTempFolder(t, 'server'), 'state')
  const first = await openServer(t, inFiles(folder))
  t.equal(first.server.folder, folder)
  await first.post('/store/write', { record: { key: 'a', value: 'Yg==' } })
  await first.post('/config/set', {
    path: 'a',
    value: { data: '"s3cret"' },
    options: { secret: true },
  })
  await first.post('/events/stream/publish', { topic: 'orders', payload: 'Yg==' })
  await first.server.close()
  t.same(
    readdirSync(folder).sort(),
    ['config_secret_key', 'events', 'runtime', 'server_id', 'store'],
    'without a lock',
  )
  const second = await openServer(t, inFiles(folder))
  t.match(await second.get('/store/read?key=a'), { body: { records: [{ value: 'Yg==' }] } })
  t.match(await second.get('/config/get?path=a&options.secret=true'), {
    body: { value: { data: '"s3cret"' } },
  })
  t.match(await second.get('/events/store/read?topic=orders'), {
    body: { events: [{ payload: 'Yg==', sequence: 1 }] },
  })
})

t.test(
  'a failed start reports the reason with a one-line message and leaves no resource open',
  async (t) => {
    const folder = join(makeTempFolder(t, 'server'), 'state')
    const port = await listen(t, createServer())
    for (const setting of ['address', 'proxy_address', 'web_address']) {
      const args = [...inFiles(folder), `--${setting}=127.0.0.1:${port}`]
      const others = QUIET_FLAGS.filter((flag) => !flag.startsWith(`--${setting}=`))
      const load = configurationFrom(readFlags([...others, ...args], 'server'), {}, 'server')
      const { startServer } = await import('../../../platform/server/server.ts')
      const starting = startServer({ configuration: await load(), log: pino({ level: 'silent' }) })
      await t.rejects(starting, {
        message: `address 127.0.0.1:${port} is in use by another program; choose another with --${setting} or MX_${setting.toUpperCase()}`,
      })
      t.notOk(existsSync(folder), `${setting}: the folder was not created`)
    }
    const cases: [args: string[], message: RegExp][] = [
      [
        ['--broker=nats://127.0.0.1:1'],
        /^the broker nats:\/\/127\.0\.0\.1:1 is not available: [^\n]*$/,
      ],
      [
        ['--registry=consul://127.0.0.1:1'],
        /^the registry consul:[^\n]* is not available: [^\n]*$/,
      ],
      [
        ['--store=postgres://a@127.0.0.1:1/b'],
        /^the store postgres:[^\n]* is not available: [^\n]*$/,
      ],
      [['--events=nats://127.0.0.1:1'], /^the event storage nats:[^\n]* is not available: [^\n]*$/],
      [['--plugin=./none.ts'], /none\.ts/],
    ]
    for (const [args, message] of cases) {
      const base = inFiles(folder).filter((flag) => !args[0]!.startsWith(flag.split('=')[0]!))
      await t.rejects(openServer(t, [...base, ...args]), { message }, args.join(' '))
      t.notOk(
        readdirSync(folder).some((name) => name.startsWith('lock')),
        'the folder is unlocked',
      )
    }
    await openServer(t, inFiles(folder))
  },
)

t.test('reports a wrong secret key and changes nothing', async (t) => {
  const folder = join(makeTempFolder(t, 'server'), 'state')
  const withKey = (key: string) => [
    ...inFiles(folder).filter((flag) => !flag.startsWith('--config')),
    `--config_secret_key=${key}`,
  ]
  const right = makeSecretKey()
  const first = await openServer(t, withKey(right))
  const secret = { path: 'a', value: { data: '1' }, options: { secret: true } }
  t.equal((await first.post('/config/set', secret)).status, 200)
  await first.server.close()
  await t.rejects(
    openServer(t, withKey(makeSecretKey())),
    /^the key in MX_CONFIG_SECRET_KEY or --config_secret_key does not match [^\n]*$/,
  )
  const next = await openServer(t, withKey(right))
  t.match(await next.get('/config/get?path=a&options.secret=true'), {
    body: { value: { data: '1' } },
  })
})

t.test('user services are registered, found and called through the RPC proxy', async (t) => {
  const { proxy, get } = await openServer(t)
  const greeter = createService(t, { name: 'greeter', proxy, auth: ADMIN })
  greeter.handle('Greeter', { hello: endpoint({ handle: () => ({ message: 'Hello' }) }) })
  await greeter.start()
  t.same(await get('/greeter/hello'), { status: 200, body: { message: 'Hello' } })
  const client = openClient(t, { proxy, auth: ADMIN })
  t.same(await client.call('greeter', 'Greeter.Hello'), { message: 'Hello' })
  const store = createStore(client)
  await store.write('a', { b: 1 })
  t.same((await store.read('a'))[0]?.json(), { b: 1 })
  await greeter.stop()
  t.equal((await get('/greeter/hello')).status, 404)
})

t.test('the registry publishes changes to the broker', async (t) => {
  const { proxy, post } = await openServer(t)
  const client = openClient(t, { proxy, auth: ADMIN })
  const received = await receive(t, client, 'registry.events')
  await post('/registry/register', { name: 'a', nodes: [{ id: 'a', address: '127.0.0.1:1' }] })
  await waitUntil(() => received.length > 0)
  t.match(received, [{ action: 'create', service: { name: 'a' } }])
})

t.test(
  'finds Kubernetes services in addition to the built-in ones, and rejects registrations',
  async (t) => {
    const api = await openKubernetesApi(t)
    const port = await listenHttp(t, (_, response) => response.end('plain'))
    const ports = { ports: [{ name: 'http', port, protocol: 'TCP' }] }
    api.write('endpointslices', makeSlice('web-1', 'web', ['127.0.0.1'], ports))
    api.write('services', makeKubernetesService('web'))
    useKubeconfig(t, api)
    const opened = await openServer(t, ['--registry=kubernetes'])
    const { get, post, url } = opened
    t.equal(await (await fetch(`${url}/web/x`)).text(), 'plain')
    t.equal((await get('/store/databases')).status, 200)
    const { body } = await get('/registry/listServices')
    const names = body.services.map(({ name }: { name: string }) => name)
    t.same(names, [...opened.server.services, 'web'].sort())
    const registration = { name: 'a', nodes: [{ id: 'a', address: '127.0.0.1:1' }] }
    t.match(await post('/registry/register', registration), {
      status: 501,
      body: {
        Detail: 'the registry kubernetes is read-only: it discovers services itself',
      },
    })
  },
)

t.test('the event handler publishes requests, stores them, or both', async (t) => {
  for (const target of ['broker', 'events', 'both']) {
    const { proxy, post } = await openServer(t, [`--event_sink=${target}`])
    const orders = createService(t, { name: 'orders', proxy, auth: ADMIN })
    const http = { method: 'POST', path: '/orders', handler: 'event' as const }
    orders.handle('Orders', { created: endpoint({ http, handle: () => ({}) }) })
    await orders.start()
    const client = openClient(t, { proxy, auth: ADMIN })
    const received = await receive(t, client, 'orders')
    await waitUntil(async () => (await post('/orders', { a: 1 })).status === 200)
    const stored = await createEvents(client).read('orders')
    t.equal(stored.length > 0, target !== 'broker', target)
    if (target === 'events') t.same(received, [])
    else await waitUntil(() => received.length > 0)
    if (target !== 'events') t.match(received[0], { data: '{"a":1}' })
  }
})

t.test('linked servers call services of each other', async (t) => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  // Both servers accept the same tokens.
  const shared = ['--network_token=s3cret-of-a-network', `--auth_private_key=${key}`]
  const one = await openServer(t, [...shared, '--server_id=one'])
  const args = [...shared, `--network_nodes=${one.proxy}`, '--server_id=two']
  const two = await openServer(t, args)
  const greeter = createService(t, { name: 'greeter', proxy: one.proxy, auth: ADMIN })
  greeter.handle('Greeter', { hello: endpoint({ handle: () => ({ message: 'Hello' }) }) })
  await greeter.start()
  await waitUntil(async () => (await two.get('/greeter/hello')).status === 200)
  t.same(await openClient(t, { proxy: two.proxy, auth: ADMIN }).call('greeter', 'Greeter.Hello'), {
    message: 'Hello',
  })
  await one.post('/store/write', { record: { key: 'a', value: 'Yg==' } })
  t.equal((await two.get('/store/read?key=a')).status, 404, 'each server has its own store')
  const { body } = await two.get('/network/nodes')
  t.same(
    body.nodes.map(({ id }: { id: string }) => id),
    ['two', 'one'],
  )
  const serverWithoutToken = await openServer(t, [`--network_nodes=${one.proxy}`])
  t.equal((await serverWithoutToken.get('/greeter/hello')).status, 404)
  await one.server.drain()
  await waitUntil(async () => (await two.get('/greeter/hello')).status === 503)
})

t.test('servers do not link without a network token', async (t) => {
  const folder = join(makeTempFolder(t, 'server'), 'state')
  const { proxy } = await openServer(t, ['--profile=local', ...inFiles(folder)])
  const { post } = await openServer(t, ['--server_id=stranger'])
  const { body } = await post('/network/connect', { nodes: [{ address: proxy }] })
  t.match(body.links, [{ state: 'waiting', error: /has no network_token/ }])
})

t.test('a reload applies live settings and names settings that require a restart', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const cwd = t.testdir({ 'mx.yaml': 'events: memory\n' })
  const file = join(cwd, 'mx.yaml')
  const { server, get } = await openServer(t, [`--config=${file}`], log)
  t.equal((await get('/plain/x')).status, 404)
  writeFileSync(file, 'events: lmdb\nmax_body: 10b\nservices:\n  plain: [127.0.0.1:1]\n')
  const flags = readFlags([...QUIET_FLAGS, `--config=${file}`], 'server')
  await server.reload(await configurationFrom(flags, { MX_PROFILE: 'test' }, 'server')())
  t.equal((await get('/plain/x')).status, 502, 'the node is known but refuses connections')
  const serverLines = lines.filter(({ service }) => service === undefined)
  t.match(serverLines, [
    { msg: 'restart required to apply: events' },
    { msg: 'configuration reloaded', servicesAdded: ['plain'], settings: ['max_body'] },
  ])
})

t.test('returns 503 during an outage of the broker', async (t) => {
  const nats = await startNats(t)
  if (nats === undefined) return
  const { post } = await openServer(t, [`--broker=${nats.url}`])
  const message = { topic: 'a', message: { body: 'Yg==' } }
  t.equal((await post('/broker/publish', message)).status, 200)
  await nats.kill()
  await waitUntil(async () => (await post('/broker/publish', message)).status === 503)
  await nats.start()
  await waitUntil(async () => (await post('/broker/publish', message)).status === 200, 10_000)
})

t.test(
  'responses of built-in services are compressed unless plugins of the gateway say otherwise',
  async (t) => {
    const { url, token, server } = await openServer(t)
    const findEncoding = async (): Promise<string | null> => {
      const headers = { 'accept-encoding': 'br', authorization: `Bearer ${token}` }
      const { status, headers: received } = await fetch(`${url}/registry/listServices`, { headers })
      t.equal(status, 200)
      return received.get('content-encoding')
    }
    t.equal(await findEncoding(), 'br')
    const { configuration } = server.api.active
    await server.reload({
      ...configuration,
      config: {
        ...configuration.config,
        services: [],
        plugins: [{ specifier: 'compress', options: { encodings: [] }, at: 'test' }],
      },
    })
    t.equal(await findEncoding(), null)
  },
)

t.test('calls built-in services in process, regardless of other registrations', async (t) => {
  const { get, post } = await openServer(t)
  let requests = 0
  const broken = createServer((socket) => {
    requests++
    socket.destroy()
  })
  const port = await listen(t, broken)
  const address = `127.0.0.1:${port}`
  const nodes = Array.from({ length: 9 }, (_, i) => ({ id: `gone-${i}`, address }))
  t.equal((await post('/registry/register', { name: 'store', nodes })).status, 200)
  const { body } = await get('/registry/getService?service=store')
  t.equal(body.services.flatMap(({ nodes }: { nodes: unknown[] }) => nodes).length, 10)
  for (let i = 0; i < 20; i++) t.equal((await get('/store/databases')).status, 200)
  t.equal(requests, 0)
})
