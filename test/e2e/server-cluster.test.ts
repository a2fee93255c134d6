// The `cluster` profile: servers that share Consul, NATS and PostgreSQL.
import t, { type Test } from 'tap'
import { createPlatformBroker } from '../../sdk/broker/platform-broker.ts'
import { createConfig } from '../../sdk/config/config.ts'
import { createEvents } from '../../sdk/events/events.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { createStore } from '../../sdk/store/store.ts'
import { makeSecretKey } from '../../services/config/secrets/secret-key.ts'
import { waitUntil } from '../contracts/registry.ts'
import { startConsul } from '../fixtures/consul.ts'
import { startNats } from '../fixtures/nats.ts'
import { startPostgres } from '../fixtures/postgres.ts'
import { createService, openClient } from '../fixtures/sdk-services.ts'
import { launchServer, type ServerProcess, startServerProcess } from '../fixtures/server-process.ts'

t.setTimeout(180_000)

const SYNC_MS = 20_000

async function get(url: string, headers: Record<string, string> = {}) {
  const reply = await fetch(url, { headers })
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
}

async function openCluster(t: Test) {
  const consul = await startConsul(t)
  const nats = await startNats(t, { jetStream: true })
  const postgres = await startPostgres(t)
  if (consul === undefined || nats === undefined || postgres === undefined) return undefined
  const args = [
    '--profile=cluster',
    `--registry=consul://${consul.host}:${consul.port}`,
    `--broker=${nats.url}`,
    `--events=${nats.url}`,
    '--events_replicas=1',
    `--store=${postgres.url()}`,
  ]
  const env = { MX_CONFIG_SECRET_KEY: makeSecretKey(), MX_ADMIN_PASSWORD: 'open-sesame' }
  return { args, env, start: () => startServerProcess(t, args, { env }) }
}

t.test('servers of a cluster act as one platform', async (t) => {
  const cluster = await openCluster(t)
  if (cluster === undefined) return
  const [one, two] = (await Promise.all([cluster.start(), cluster.start()])) as [
    ServerProcess,
    ServerProcess,
  ]
  t.match(one.log().at(-1), { profile: 'cluster', state: /.mx.server$/, registry: /^consul:/ })
  const clients = [one, two].map(({ proxy, auth }) => openClient(t, { proxy, auth })) as [
    ReturnType<typeof openClient>,
    ReturnType<typeof openClient>,
  ]

  await createStore(clients[0]).write('a', { b: 1 })
  t.same((await createStore(clients[1]).read('a'))[0]?.json(), { b: 1 })
  await createConfig(clients[0]).set('a.secret', 'x', { secret: true })
  t.equal((await createConfig(clients[1]).get('a.secret', { secret: true })).string(''), 'x')
  const { id } = await createEvents(clients[0]).publish('orders', { n: 1 })
  t.same(
    (await createEvents(clients[1]).read('orders')).map((event) => event.id),
    [id],
  )

  const broker = createPlatformBroker({ client: clients[1] })
  t.teardown(() => broker.close?.())
  const received: string[] = []
  await broker.subscribe('news', ({ body }) => void received.push(Buffer.from(body).toString()))
  await createPlatformBroker({ client: clients[0] }).publish('news', {
    headers: {},
    body: Buffer.from('hello'),
  })
  await waitUntil(() => received.length === 1)

  const greeter = createService(t, { name: 'greeter', proxy: one.proxy, auth: one.auth })
  greeter.handle('Greeter', { hello: endpoint({ handle: () => ({ message: 'Hello' }) }) })
  await greeter.start()
  for (const { gateway } of [one, two])
    await waitUntil(async () => (await get(`${gateway}/greeter/hello`)).status === 200, SYNC_MS)
  t.same(await clients[1].call('greeter', 'Greeter.Hello'), { message: 'Hello' })

  // The domain is unknown to the other server.
  const registration = {
    name: 'shop',
    nodes: [{ id: 'shop-1', address: greeter.address, metadata: { protocol: 'mx' } }],
    options: { domain: 'staging' },
  }
  await clients[0].call('registry', 'Registry.Register', registration)
  const staging = { 'mx-namespace': 'staging' }
  await waitUntil(async () => {
    const { body } = await get(`${two.gateway}/shop/hello`, staging)
    // The lookup finds the service, but the node belongs to another one.
    return body['Detail'] === 'service not found: shop' && body['Id'] === 'greeter'
  }, SYNC_MS)
  t.match(await get(`${two.gateway}/shop/hello`), { body: { Id: 'shop', Code: 404 } })
  const listed = await clients[1].call<{ services: { name: string }[] }>(
    'registry',
    'Registry.ListServices',
    { options: { domain: 'staging' } },
  )
  t.match(listed.services, [{ name: 'shop' }])

  await one.kill()
  const authorized = { authorization: `Bearer ${one.token}` }
  for (const path of ['store/databases', 'config/get?path=a', 'registry/listServices'])
    t.equal(
      (await get(`${two.gateway}/${path}`, authorized)).status,
      200,
      `${path}: the other server continues to serve`,
    )
})

t.test('rejects a server with another key', async (t) => {
  const cluster = await openCluster(t)
  if (cluster === undefined) return
  const one = await cluster.start()
  await createConfig(openClient(t, { proxy: one.proxy, auth: one.auth })).set('a', 'x', {
    secret: true,
  })
  const { ended, output } = launchServer(t, cluster.args, {
    env: { MX_CONFIG_SECRET_KEY: makeSecretKey() },
  })
  t.equal(await ended, 1)
  t.match(output.stderr, /^mx: the key in MX_CONFIG_SECRET_KEY [^\n]* does not match [^\n]*\n$/)
})
