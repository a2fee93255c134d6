// Specification: "Broker message", "Events": the broker, "Library-level operations": the broker; with each adapter.
import t, { type Test } from 'tap'
import { createMemoryBroker } from '../../adapters/broker/memory.ts'
import { createNatsBroker } from '../../adapters/broker/nats.ts'
import { parseNatsUrl } from '../../adapters/nats/url.ts'
import type { Broker } from '../../core/contracts/broker.ts'
import { createBroker } from '../../sdk/broker/broker.ts'
import { type Context, metadata } from '../../sdk/context.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { openApi } from '../fixtures/api.ts'
import { startNats } from '../fixtures/nats.ts'
import { openPlatformBroker } from '../fixtures/platform-broker.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'
import { createService, openRegistry } from '../fixtures/sdk-services.ts'

/** A platform with registry, broker service, and services by name. */
async function open(t: Test, adapter: Broker) {
  const registry = openRegistry(t)
  const platform = await openPlatformBroker(t, { adapter, registry })
  return { ...platform, registry, create: (name: string) => createService(t, { name, registry }) }
}

const ADAPTERS: Readonly<Record<string, (t: Test) => Promise<Broker | undefined>>> = {
  memory: async () => createMemoryBroker(),
  async nats(t) {
    const server = await startNats(t)
    return server && createNatsBroker({ address: parseNatsUrl(server.url) })
  },
}

for (const [name, create] of Object.entries(ADAPTERS)) {
  t.test(`${name}: topics with many publishers and subscribers`, async (t) => {
    const adapter = await create(t)
    if (adapter === undefined) return
    const platform = await open(t, adapter)
    const received: Record<string, unknown[]> = { billing: [], mail: [] }
    for (const service of ['billing', 'mail'])
      await platform
        .create(service)
        .subscribe('orders', (order) => void received[service]!.push(order))
        .start()
    for (const shop of ['north', 'south'])
      await createBroker(platform.create(shop)).publish('orders', shop)
    await waitUntil(() => Object.values(received).every(({ length }) => length === 2))
    for (const orders of Object.values(received)) t.same(orders.sort(), ['north', 'south'])
  })

  t.test(`${name}: fire-and-forget; no persistence`, async (t) => {
    const adapter = await create(t)
    if (adapter === undefined) return
    const platform = await open(t, adapter)
    const broker = createBroker(platform.client)
    t.teardown(broker.close)
    await broker.publish('orders', 'before the subscription')
    const received: unknown[] = []
    await broker.subscribe('orders', (order) => void received.push(order))
    await broker.publish('orders', 'after the subscription')
    await waitUntil(() => received.length > 0)
    t.same(received, ['after the subscription'])
  })

  t.test(
    `${name}: Publishing encodes the message, sets the content-type header and copies context metadata into headers. Subscribing registers a handler that decodes the body.`,
    async (t) => {
      const adapter = await create(t)
      if (adapter === undefined) return
      const platform = await open(t, adapter)
      const shop = platform.create('shop')
      const broker = createBroker(shop)
      shop.handle('Shop', {
        buy: endpoint({
          async handle(request, ctx) {
            await broker.publish('orders', request, { context: ctx })
            return {}
          },
        }),
      })
      await shop.start()
      const received: [unknown, Context][] = []
      await platform
        .create('billing')
        .subscribe('orders', (order, ctx) => void received.push([order, ctx]))
        .start()
      const headers = { 'x-tenant': 'acme', 'x-request-id': 'r1', authorization: 'Bearer t' }
      await shop.client.call('shop', 'Shop.Buy', { id: 5 }, { metadata: headers })
      await waitUntil(() => received.length > 0)
      const [order, ctx] = received[0]!
      t.strictSame(order, { id: 5 })
      t.strictSame(metadata.get(ctx, 'Content-Type'), ['application/json', true])
      t.strictSame(metadata.get(ctx, 'X-Tenant'), ['acme', true])
      t.strictSame(metadata.get(ctx, 'X-Request-Id'), ['r1', true])
      t.strictSame(metadata.get(ctx, 'Authorization'), ['', false])
    },
  )

  t.test(`${name}: Broker message: Body (bytes) plus headers; over HTTP, too`, async (t) => {
    const adapter = await create(t)
    if (adapter === undefined) return
    const { address, broker, subscribers } = await open(t, adapter)
    const { port } = await openApi(t, {
      MX_ACCESS_LOG: 'off',
      MX_NAMESPACE: ' ',
      MX_BACKEND: `broker=mx://${address}`,
    })
    const origin = `http://127.0.0.1:${port}/broker`
    const post = async (body: object) =>
      (
        await fetch(`${origin}/publish`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'mx-namespace': 'acme' },
          body: JSON.stringify(body),
        })
      ).json()
    const controller = new AbortController()
    const stream = await fetch(`${origin}/subscribe?topic=orders`, {
      headers: { 'mx-namespace': 'acme', accept: 'text/event-stream' },
      signal: controller.signal,
    })
    t.equal(stream.status, 200)
    t.equal(subscribers(), 1)
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    const message = { header: { 'content-type': 'text/plain' }, body: 'SGVsbG8=' }
    t.strictSame(await post({ topic: 'orders', message }), {})
    let text = ''
    while (!/^data: .*\n/m.test(text)) text += (await reader.read()).value ?? ''
    t.strictSame(JSON.parse(/^data: (.*)$/m.exec(text)![1]!), {
      header: { ...message.header, 'mx-topic': 'acme.orders', 'mx-namespace': 'acme' },
      body: 'SGVsbG8=',
    })
    t.match(await post({ message }), { Code: 400, Detail: 'Missing topic' })
    t.match(await post({ topic: 'orders' }), {
      Id: 'broker.Broker.Publish',
      Code: 400,
      Detail: 'Missing message',
      Status: 'Bad Request',
    })
    controller.abort()
    await waitUntil(() => subscribers() === 0)
    t.equal(broker.dropped, 0)
  })
}

t.test(
  'publishing fails with 503 while NATS restarts under load, and subscriptions resume',
  async (t) => {
    const server = await startNats(t)
    if (server === undefined) return
    const warnings: string[] = []
    const adapter = createNatsBroker({
      address: parseNatsUrl(server.url),
      onWarning: (message) => warnings.push(message),
    })
    const platform = await open(t, adapter)
    const received = new Set<unknown>()
    const service = platform
      .create('billing')
      .subscribe('orders', (order) => void received.add(order))
    await service.start()
    const publisher = createBroker(platform.client)
    let accepted = 0
    const rejections: unknown[] = []
    let done = false
    const load = (async () => {
      for (let i = 0; !done; i++) {
        try {
          await publisher.publish('orders', i)
          accepted++
        } catch (error) {
          rejections.push(error)
        }
      }
    })()
    for (let round = 1; round <= 3; round++) {
      const before = received.size
      await waitUntil(() => received.size > before + 50)
      await server.kill()
      const rejected = rejections.length
      await waitUntil(() => rejections.length > rejected)
      await server.start()
    }
    const before = received.size
    await waitUntil(() => received.size > before + 50)
    done = true
    await load
    for (const error of rejections)
      t.match(error, { code: 503, id: 'broker', message: 'the broker cannot be reached' })
    t.ok(received.size <= accepted)
    t.equal(platform.subscribers(), 1, 'the stream was never interrupted')
    t.equal(warnings.filter((text) => text.includes('reachable again')).length, 3)
  },
)
