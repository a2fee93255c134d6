import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import type { RegistryEvent, Service } from '../../../core/contracts/registry.ts'
import { testRegistry } from '../../contracts/registry.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { makeNode, makeService, replaceServices } from '../../fixtures/services.ts'

testRegistry(t, () => {
  const registry = createMemoryRegistry()
  return { registry, replaceServices: (services) => replaceServices(registry, services) }
})

/** A registry with a stopped clock, and its events. */
function openRegistry(t: Test): {
  registry: ReturnType<typeof createMemoryRegistry>
  clock: { seconds: number }
  takeEvents: () => string[]
} {
  const clock = { seconds: 0 }
  const registry = createMemoryRegistry({ nowMs: () => clock.seconds * 1000 })
  t.teardown(() => registry.close?.())
  const events: RegistryEvent[] = []
  registry.watch?.((event) => events.push(event))
  const takeEvents = (): string[] =>
    events
      .splice(0)
      .map(({ type, service }) => `${type} ${service.version} ${service.nodes.length}`)
  return { registry, clock, takeEvents }
}

t.test('drops a node that is not registered again within its TTL', async (t) => {
  const { registry, clock, takeEvents } = openRegistry(t)
  const service = makeService('greeter', ['127.0.0.1:9001'])
  await registry.register?.(service, { ttlSeconds: 90 })
  clock.seconds = 60
  await registry.register?.(service, { ttlSeconds: 90 })
  clock.seconds = 149
  t.same(await registry.getService('greeter'), [service], 'a new registration restarts the TTL')
  t.same(takeEvents(), ['create latest 1'], 'no event')
  clock.seconds = 150
  t.same(await registry.getService('greeter'), [])
  t.same(takeEvents(), ['delete latest 0'])
})

t.test('emits an event for an expired node and keeps the others', async (t) => {
  const { registry, clock, takeEvents } = openRegistry(t)
  await registry.register?.(makeService('greeter', ['127.0.0.1:9001']), { ttlSeconds: 10 })
  await registry.register?.(makeService('greeter', ['127.0.0.1:9002']), { ttlSeconds: 20 })
  await registry.register?.(makeService('greeter', ['127.0.0.1:9003']))
  await registry.register?.(makeService('greeter', ['127.0.0.1:9004'], 'next'), { ttlSeconds: 20 })
  takeEvents()
  clock.seconds = 10
  t.equal((await registry.listServices()).length, 2)
  t.same(takeEvents(), ['update latest 2'])
  clock.seconds = 1000
  t.same(await registry.listServices(), [makeService('greeter', ['127.0.0.1:9003'])])
  t.same(takeEvents(), ['update latest 1', 'delete next 0'], 'no expiry without a TTL')
})

t.test('emits expiries without a query', async (t) => {
  let now = 0
  const registry = createMemoryRegistry({ nowMs: () => now, sweepMs: 1 })
  t.teardown(() => registry.close?.())
  await registry.register?.(makeService('greeter', ['127.0.0.1:9001']), { ttlSeconds: 1 })
  // The registry's own timer does not keep the process alive.
  keepAlive(t)
  const outcome = new Promise<RegistryEvent>((resolve) => registry.watch?.(resolve))
  now = 1000
  t.match(await outcome, { type: 'delete', service: { name: 'greeter', nodes: [] } })
})

t.test('updates the description of a service', async (t) => {
  const { registry, takeEvents } = openRegistry(t)
  const service = makeService('greeter', ['127.0.0.1:9001'])
  await registry.register?.(service)
  await registry.register?.({ ...service, metadata: { domain: 'mx' } })
  const value = { name: 'Request', type: 'Request', values: [] }
  const endpoint = { name: 'Greeter.Hello', request: value, response: value, metadata: {} }
  await registry.register?.({ ...service, endpoints: [endpoint] })
  t.same(takeEvents(), ['create latest 1', 'update latest 1', 'update latest 1'])
  t.same(await registry.getService('greeter'), [{ ...service, endpoints: [endpoint] }])
})

t.test('keeps the description of the newest node until it leaves', async (t) => {
  const { registry, clock, takeEvents } = openRegistry(t)
  const value = { name: 'Request', type: 'Request', values: [] }
  const describe = (name: string, address: string, metadata = {}): Service => ({
    ...makeService('greeter', [makeNode(address, metadata)]),
    endpoints: [{ name, request: value, response: value, metadata: {} }],
  })
  const names = async (): Promise<string[]> =>
    (await registry.getService('greeter')).flatMap((s) => s.endpoints.map(({ name }) => name))
  const old = describe('Greeter.Old', '127.0.0.1:9001')
  const next = describe('Greeter.New', '127.0.0.1:9002')
  await registry.register?.(old, { ttlSeconds: 90 })
  await registry.register?.(next, { ttlSeconds: 30 })
  t.same(await names(), ['Greeter.New'])
  takeEvents()
  await registry.register?.(old, { ttlSeconds: 90 })
  t.same([await names(), takeEvents()], [['Greeter.New'], []], 'a heartbeat')
  const draining = describe('Greeter.Old', '127.0.0.1:9001', { state: 'draining' })
  await registry.register?.(draining, { ttlSeconds: 90 })
  t.same([await names(), takeEvents()], [['Greeter.New'], ['update latest 2']], 'the node drains')
  clock.seconds = 30
  t.same(await names(), ['Greeter.Old'], 'the newer node was deregistered')
  await registry.register?.(next)
  await registry.register?.(describe('Greeter.Third', '127.0.0.1:9001'))
  t.same(await names(), ['Greeter.Third'], 'the older node registers a new description')
  await registry.deregister?.(old)
  t.same(await names(), ['Greeter.New'])
})

t.test('copies registered services', async (t) => {
  const { registry } = openRegistry(t)
  const metadata = { weight: '1' }
  await registry.register?.(makeService('greeter', [makeNode('127.0.0.1:9001', metadata)]))
  metadata.weight = '1000'
  const [service] = await registry.getService('greeter')
  t.same(service?.nodes[0]?.metadata, { weight: '1' })
})
