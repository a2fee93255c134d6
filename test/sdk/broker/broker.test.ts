import t, { type Test } from 'tap'
import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import { Type } from '../../../core/schema.ts'
import { createBroker } from '../../../sdk/broker/broker.ts'
import { type Context, createContext, metadata } from '../../../sdk/context.ts'
import { openPlatformBroker } from '../../fixtures/platform-broker.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { createQuietLog, createService, openRegistry } from '../../fixtures/sdk-services.ts'

/** Opens a platform with a broker, and a service that uses it. */
async function open(t: Test) {
  const registry = openRegistry(t)
  const platform = await openPlatformBroker(t, { registry })
  const { log, lines } = createQuietLog()
  const service = createService(t, { registry, log })
  return { ...platform, service, lines }
}

t.test(
  'a subscriber receives the decoded message with context metadata, without credentials',
  async (t) => {
    const { client, service } = await open(t)
    const [publisher, subscriber] = [createBroker(client), createBroker(service)]
    t.teardown(subscriber.close)
    const received: [unknown, Context][] = []
    const unsubscribe = await subscriber.subscribe(
      'orders',
      (order, ctx) => void received.push([order, ctx]),
      {
        message: Type.Object({ id: Type.Integer() }),
      },
    )
    const context = createContext({ metadata: { 'x-tenant': 'acme', authorization: 'Bearer t' } })
    await publisher.publish('orders', { id: 5 }, { context, headers: { 'X-Kind': 'new' } })
    await waitUntil(() => received.length > 0)
    const [order, ctx] = received[0]!
    t.strictSame(order, { id: 5 })
    t.strictSame(metadata.get(ctx, 'X-Tenant'), ['acme', true])
    t.strictSame(metadata.get(ctx, 'X-Kind'), ['new', true])
    t.strictSame(metadata.get(ctx, 'Authorization'), ['', false])
    t.equal(ctx.id, context.id)
    t.same([ctx.service, ctx.endpoint, ctx.namespace], ['greeter', 'orders', 'mx'])
    await unsubscribe()
    await unsubscribe()
    await publisher.publish('orders', { id: 6 })
    t.equal(received.length, 1)
  },
)

t.test('topics are separate per namespace', async (t) => {
  const { client } = await open(t)
  const acme = createBroker(client, { namespace: 'acme' })
  t.teardown(acme.close)
  const received: unknown[] = []
  await acme.subscribe('a', (message, ctx) => void received.push([message, ctx.namespace]))
  await createBroker(client).publish('a', 1)
  await createBroker(client).publish('a', 2, { namespace: 'acme' })
  const acmeContext = createContext({ metadata: { 'mx-namespace': 'acme' } })
  await createBroker(client).publish('a', 3, { context: acmeContext })
  await waitUntil(() => received.length === 2)
  t.same(received, [
    [2, 'acme'],
    [3, 'acme'],
  ])
})

t.test('each message is delivered to one subscriber of a queue', async (t) => {
  const { client } = await open(t)
  const received: unknown[] = []
  for (const _ of [1, 2, 3]) {
    const broker = createBroker(client)
    t.teardown(broker.close)
    await broker.subscribe('a', (message) => void received.push(message), { queue: 'workers' })
  }
  for (let i = 0; i < 30; i++) await createBroker(client).publish('a', i)
  await waitUntil(() => received.length === 30)
  t.equal(new Set(received).size, 30)
})

t.test('a subscriber error is logged, and delivery continues', async (t) => {
  const { service, lines } = await open(t)
  const broker = createBroker(service)
  t.teardown(broker.close)
  const received: unknown[] = []
  await broker.subscribe('a', (message) => {
    received.push(message)
    throw new Error('no')
  })
  await broker.publish('a', 1)
  await broker.publish('a', 2)
  await waitUntil(() => received.length === 2 && lines.length === 2)
  t.match(JSON.parse(lines[0]!), { topic: 'a', msg: 'subscriber failed', err: { message: 'no' } })
})

t.test(
  'with whenSlow: end, a slow subscription ends with 503, and drops are logged and counted',
  async (t) => {
    const { client, service, lines } = await open(t)
    const broker = createBroker(service)
    t.teardown(broker.close)
    t.equal(broker.dropped, 0)
    const ends: Error[] = []
    await broker.subscribe('a', () => new Promise(() => {}), {
      whenSlow: 'end',
      onEnd: (error) => ends.push(error),
    })
    const publisher = createBroker(client)
    for (let i = 0; ends.length === 0; i += 500)
      await Promise.all(Array.from({ length: 500 }, (_, n) => publisher.publish('a', i + n)))
    t.match(ends, [{ code: 503, message: /too slow; its subscription has ended/ }])
    t.equal(broker.dropped, 10_001)
    t.match(JSON.parse(lines[0]!), { msg: 'subscriber too slow, messages dropped' })
  },
)

t.test('a broker adapter of the service is used, without namespaces', async (t) => {
  const adapter = createMemoryBroker()
  const service = createService(t, { broker: adapter })
  const broker = createBroker(service)
  const received: unknown[] = []
  const unsubscribe = await broker.subscribe('a', (message) => void received.push(message))
  await broker.publish('a', { n: 1 })
  void adapter.publish('a', { headers: {}, body: Buffer.from('{"n":2}') })
  await waitUntil(() => received.length === 2)
  t.same(received, [{ n: 1 }, { n: 2 }])
  t.equal(broker.dropped, 0)
  await unsubscribe()
  await broker.publish('a', { n: 3 })
  const selected = {
    message: /^call option namespace is not supported: the service has its own broker$/,
  }
  await t.rejects(broker.publish('a', 1, { namespace: 'acme' }), selected)
  await t.rejects(createBroker(service, { namespace: 'x' }).publish('a', 1), selected)
  await t.rejects(
    createBroker(service, { namespace: 'x' }).subscribe('a', () => {}),
    selected,
  )
  await broker.close()
  t.equal(received.length, 2)
})

t.test('subscriptions of a service end with the service', async (t) => {
  const { service, subscribers } = await open(t)
  await service.start()
  const broker = createBroker(service)
  await broker.subscribe('a', () => {})
  t.equal(subscribers(), 1)
  await service.stop()
  await waitUntil(() => subscribers() === 0)
  await t.rejects(
    broker.subscribe('a', () => {}),
    { code: 503, message: 'the broker is closed' },
  )
})

t.test('invalid options, messages and topics are rejected', async (t) => {
  const { client } = await open(t)
  const broker = createBroker(client)
  t.teardown(broker.close)
  t.throws(() => createBroker(client, { queue: 'x' } as never), { name: 'TypeError' })
  await t.rejects(broker.publish('a', 1, { queue: 'x' } as never), { name: 'TypeError' })
  await t.rejects(
    broker.subscribe('a', () => {}, { slow: 'x' } as never),
    { name: 'TypeError' },
  )
  await t.rejects(broker.publish('a', undefined), { name: 'TypeError' })
  await t.rejects(broker.publish('a b', 1), { code: 400, message: /request\.topic/ })
  await t.rejects(broker.publish('', 1), { code: 400, message: 'Missing topic' })
  await t.rejects(
    broker.subscribe('a b', () => {}),
    { code: 400, message: /topic/ },
  )
})
