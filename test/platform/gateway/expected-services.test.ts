import t from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import type { Registry, RegistryEvent } from '../../../core/contracts/registry.ts'
import { createExpectedServices } from '../../../platform/gateway/expected-services.ts'
import { makeService } from '../../fixtures/services.ts'
import type { Teardown } from '../../fixtures/teardown.ts'

function open(t: Teardown) {
  const memory = createMemoryRegistry()
  t.teardown(() => memory.close())
  const expected = createExpectedServices()
  const registry = expected.join(memory)
  const events: string[] = []
  registry.watch!(({ type, service }: RegistryEvent) =>
    events.push(`${type} ${service.name} ${service.nodes.length}`),
  )
  return { memory, expected, registry, events }
}

const READ = {
  name: 'Shop.Read',
  request: { name: '', type: '', values: [] },
  response: { name: '', type: '', values: [] },
  metadata: { path: '/v1/items' },
}

t.test('an expected service exists without nodes until it registers', async (t) => {
  const { memory, expected, registry, events } = open(t)
  expected.add('mx', makeService('shop', []))
  t.match(await registry.getService('shop'), [{ name: 'shop', nodes: [] }])
  t.match(await registry.listServices(), [{ name: 'shop' }])
  memory.register(makeService('shop', ['127.0.0.1:1']))
  t.match(await registry.getService('shop'), [{ nodes: [{ address: '127.0.0.1:1' }] }])
  t.equal((await registry.listServices()).length, 1)
  memory.deregister(makeService('shop', ['127.0.0.1:1']))
  t.match(await registry.getService('shop'), [{ nodes: [] }], 'its last node was deregistered')
  t.match(events.at(-1), /shop 0/)
  expected.remove('mx', { name: 'shop', version: 'latest' })
  t.same(await registry.getService('shop'), [])
  t.equal(events.at(-1), 'delete shop 0')
})

t.test('a deregistered expected service keeps its routes', async (t) => {
  const { memory, expected, registry } = open(t)
  expected.add('mx', makeService('shop', []))
  const running = { ...makeService('shop', ['127.0.0.1:1']), endpoints: [READ] }
  memory.register(running)
  memory.deregister(running)
  t.match(await registry.getService('shop'), [{ endpoints: [READ], nodes: [] }])
})

t.test(
  'after a restart, an expected service has the routes that it registered before',
  async (t) => {
    const before = open(t)
    let changes = 0
    before.expected.watch(() => changes++)
    before.expected.add('mx', makeService('shop', []))
    before.memory.register({ ...makeService('shop', ['127.0.0.1:1']), endpoints: [READ] })
    before.memory.register({ ...makeService('shop', ['127.0.0.1:2']), endpoints: [READ] })
    t.equal(changes, 1, 'a new node does not change the description')

    const { expected, registry, memory, events } = open(t)
    expected.add('mx', makeService('shop', []))
    expected.restore(before.expected.listKnown())
    t.match(await registry.getService('shop'), [{ endpoints: [READ], nodes: [] }])
    t.equal(events.at(-1), 'update shop 0')
    const path = { path: '/v2/items' }
    const newer = {
      ...makeService('shop', ['127.0.0.1:1']),
      endpoints: [{ ...READ, metadata: path }],
    }
    memory.register(newer)
    memory.deregister(newer)
    expected.restore(before.expected.listKnown())
    t.match(await registry.getService('shop'), [{ endpoints: [{ metadata: path }], nodes: [] }])
    expected.remove('mx', { name: 'shop', version: 'latest' })
    expected.restore(before.expected.listKnown())
    t.same(await registry.getService('shop'), [], 'other services stay unknown')
  },
)

t.test('a domain with expected services exists before anything is registered in it', async (t) => {
  const { expected } = open(t)
  let tenant: Registry | undefined
  const domains = expected.joinDomains({ find: () => tenant })
  t.equal(domains.find('tenant'), undefined)
  expected.add('tenant', makeService('shop', []))
  const before = domains.find('tenant')!
  t.match(await before.getService('shop'), [{ nodes: [] }])
  t.equal(domains.find('tenant'), before, 'the same object')
  const memory = createMemoryRegistry()
  t.teardown(() => memory.close())
  tenant = memory
  memory.register(makeService('shop', ['127.0.0.1:1']))
  t.match(await domains.find('tenant')!.getService('shop'), [{ nodes: [{}] }])
})
