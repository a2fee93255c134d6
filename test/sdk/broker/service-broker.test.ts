import t, { type Test } from 'tap'
import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import { createServiceBroker } from '../../../sdk/broker/service-broker.ts'
import type { ServiceOptions } from '../../../sdk/service/service.ts'
import { startNats } from '../../fixtures/nats.ts'
import { openPlatformBroker } from '../../fixtures/platform-broker.ts'
import { openRawBackend, waitUntil } from '../../fixtures/raw-backend.ts'
import { createQuietLog, createService, openRegistry } from '../../fixtures/sdk-services.ts'

function open(t: Test, options: Partial<ServiceOptions>) {
  const { log, lines } = createQuietLog()
  const received: unknown[] = []
  const service = createService(t, { log, ...options })
  const messages = (): string[] => lines.map((line) => JSON.parse(line).msg)
  return { service, received, lines, messages }
}

const getNode = async (registry: Registry, name: string) =>
  (await registry.getService(name))[0]!.nodes[0]!

t.test('without a broker option, a service uses the broker of the platform', async (t) => {
  const registry = openRegistry(t)
  const { publish, subscribers } = await openPlatformBroker(t, { registry })
  const { service, received } = open(t, { registry })
  service.subscribe('orders', (order) => void received.push(order))
  await service.start()
  t.equal(subscribers(), 1)
  const body = Buffer.from('{"id":5}').toString('base64')
  await publish({ topic: 'orders', message: { body } })
  await waitUntil(() => received.length > 0)
  t.same(received, [{ id: 5 }])
  t.match(await getNode(registry, 'greeter'), { metadata: { broker: 'mx' } })
  await service.stop()
  await waitUntil(() => subscribers() === 0)
})

t.test('a service starts before the broker of the platform, and subscribes later', async (t) => {
  const registry = openRegistry(t)
  const { service, received, messages } = open(t, { registry })
  service.subscribe('orders', (order) => void received.push(order))
  await service.start()
  t.same(messages(), ['subscribing failed, retrying', 'service ready'])
  const { publish, subscribers } = await openPlatformBroker(t, { registry })
  await waitUntil(() => subscribers() === 1)
  await publish({ topic: 'orders', message: { body: '' } })
  await waitUntil(() => received.length > 0)
  await waitUntil(() => messages().at(-1) === 'subscribed')
})

t.test('a service without subscriptions does not connect to its broker', async (t) => {
  const registry = openRegistry(t)
  const { service } = open(t, { registry })
  await service.start()
  t.notOk('broker' in (await getNode(registry, 'greeter')).metadata)
  const backend = await openRawBackend(t)
  const other = open(t, { registry, name: 'other', broker: `nats://127.0.0.1:${backend.port}` })
  await other.service.start()
  t.equal((await getNode(registry, 'other')).metadata['broker'], 'nats')
  t.equal(backend.connections.length, 0, 'there is no connection')
})

t.test('a broker URL opens a connection, which closes with the service', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const services = ['one', 'two'].map((name) => open(t, { name, broker: server.url }))
  for (const { service, received } of services) {
    service.subscribe('orders', (order) => void received.push(order))
    await service.start()
  }
  const registry = openRegistry(t)
  const publisher = open(t, { name: 'three', broker: server.url, registry })
  const { createBroker } = await import('../../../sdk/broker/broker.ts')
  await createBroker(publisher.service).publish('orders', { id: 5 })
  await waitUntil(() => services.every(({ received }) => received.length === 1))
  t.same(services[0]!.received, [{ id: 5 }])
  t.match(await server.monitor('/varz'), { connections: 3 })
  await Promise.all([...services, publisher].map(({ service }) => service.stop()))
  while ((await server.monitor('/varz'))['connections'] !== 0);
})

t.test(
  'an unreachable server is logged and retried, but a rejected login fails the start',
  async (t) => {
    const server = await startNats(t, { settings: ['authorization { token: "right" }'] })
    if (server === undefined) return
    const refused = open(t, { broker: `nats://s3cret@127.0.0.1:${server.port}` })
    refused.service.subscribe('a', () => {})
    await t.rejects(refused.service.start(), {
      message:
        /^NATS at nats:\/\/127\.0\.0\.1:\d+ rejected the connection: .*Authorization Violation/i,
    })
    t.notMatch(refused.lines.join(), /s3cret/)
    await server.stop()
    const rejected = open(t, { broker: `nats://right@127.0.0.1:${server.port}` })
    rejected.service.subscribe('a', (message) => void rejected.received.push(message))
    await rejected.service.start()
    t.match(rejected.messages(), [
      /^NATS at .* is unreachable/,
      'subscribing failed, retrying',
      'service ready',
    ])
    await server.start()
    await waitUntil(() => rejected.messages().includes('subscribed'))
    const { createBroker } = await import('../../../sdk/broker/broker.ts')
    await createBroker(rejected.service).publish('a', 1)
    await waitUntil(() => rejected.received.length === 1)
  },
)

t.test('an invalid broker text is rejected by new Service', async (t) => {
  t.throws(() => createService(t, { broker: 'rabbit' }), {
    name: 'TypeError',
    message: /^broker must be memory, mx/,
  })
})

t.test('the registry entry names the broker in use', async (t) => {
  const { log } = createQuietLog()
  const otherOptions = { client: () => t.fail() as never, service: 'a', log }
  const adapter = createMemoryBroker()
  const names = [
    createServiceBroker({ ...otherOptions, configured: undefined, hasPlatform: false }),
    createServiceBroker({ ...otherOptions, configured: undefined, hasPlatform: true }),
    createServiceBroker({ ...otherOptions, configured: 'mx', hasPlatform: true }),
    createServiceBroker({ ...otherOptions, configured: adapter, hasPlatform: true }),
  ].map((broker) => broker.name())
  t.same(names, ['', '', 'mx', 'memory'])
  const broker = createServiceBroker({ ...otherOptions, configured: undefined, hasPlatform: true })
  broker.subscribe('a', () => {}, {})
  t.equal(broker.name(), 'mx')
  t.equal(broker.access.find(), undefined)
  const custom = createServiceBroker({ ...otherOptions, configured: adapter, hasPlatform: true })
  t.equal(custom.access.find(), custom.access.find())
  t.equal(custom.access.find()?.name, 'memory')
})
