import t from 'tap'
import { createMemoryRegistry } from '../../../../adapters/registry/memory.ts'
import type { Registry, Service } from '../../../../core/contracts/registry.ts'
import { createNetwork } from '../../../../domain/mesh/network.ts'
import { formatVersions } from '../../../../domain/mesh/registry/entry.ts'
import { testRegistry } from '../../../contracts/registry.ts'
import { tick } from '../../../fixtures/raw-backend.ts'
import { makeNode, makeService, replaceServices } from '../../../fixtures/services.ts'

t.test('returns local registrations unchanged', async (t) => {
  testRegistry(t, async () => {
    const memory = createMemoryRegistry()
    t.teardown(() => memory.close?.())
    const network = createNetwork({ id: 'a', registry: memory })
    await network.start()
    return { registry: network.registry, replaceServices: (all) => replaceServices(memory, all) }
  })
})

/** The network of a, with the peer b, over a synchronous or asynchronous registry. */
async function open(isAsync: boolean) {
  const memory = createMemoryRegistry()
  const registry: Registry = isAsync
    ? {
        ...memory,
        getService: async (name) => memory.getService(name),
        listServices: async () => memory.listServices(),
      }
    : memory
  const network = createNetwork({ id: 'a', registry })
  await network.start()
  network.nodes.set('b', makeNode('b:1'))
  network.table.setPeer('b', 1)
  return { memory, network }
}

const REMOTE = {
  path: ['b'],
  metric: 0,
  entry: formatVersions([makeService('s', [], 'v1'), makeService('s', [], 'v2')]),
}
const toText = ({ version, nodes }: Service): string =>
  `${version}@${nodes.map(({ address }) => address).join()}`

for (const later of [false, true])
  t.test(`prefers a local registry that responds ${later ? 'later' : 'immediately'}`, async (t) => {
    const { memory, network } = await open(later)
    const { registry, table } = network
    table.applyRoute('b', 's', REMOTE)
    const find = async () => (await registry.getService('s')).map(toText)
    const list = async () => (await registry.listServices()).map(toText)
    t.strictSame(
      [await find(), await list()],
      [
        ['v1@b:1', 'v2@b:1'],
        ['v1@b:1', 'v2@b:1'],
      ],
    )
    const localService = makeService('s', ['own:1'], 'v2')
    await registry.register!(localService)
    t.strictSame(
      [await find(), await list()],
      [['v2@own:1'], ['v2@own:1']],
      'after the registration',
    )
    t.strictSame(memory.getService('s'), [localService], 'the memory registry contains it')
    await registry.deregister!(localService)
    await tick()
    t.strictSame(
      [await find(), await list()],
      [
        ['v1@b:1', 'v2@b:1'],
        ['v1@b:1', 'v2@b:1'],
      ],
    )
  })

t.test('does not close the registry that it wraps', async (t) => {
  const { network } = await open(false)
  t.equal(network.registry.close, undefined)
})

t.test('resolves a known service without local instances to remote ones', async (t) => {
  const memory = createMemoryRegistry()
  t.teardown(() => memory.close?.())
  const known = makeService('s', [], 'v2')
  const registry: Registry = {
    ...memory,
    // Consul and Kubernetes return known services without nodes.
    getService: (name) => {
      const services = memory.getService(name)
      return name === 's' && services.length === 0 ? [known] : services
    },
  }
  const network = createNetwork({ id: 'a', registry })
  await network.start()
  network.nodes.set('b', makeNode('b:1'))
  network.table.setPeer('b', 1)
  const find = async () => (await network.registry.getService('s')).map(toText)
  const events = new Map<string, string>()
  const stop = network.registry.watch!(
    ({ type, service }) => {
      if (type === 'delete') events.delete(service.version)
      else events.set(service.version, toText(service))
    },
    { service: 's' },
  )
  const expectChange = async (...texts: string[]): Promise<void> => {
    await tick()
    t.strictSame([await find(), [...events.values()].sort()], [texts, texts])
  }
  t.strictSame(await find(), ['v2@'], 'known, but without nodes')
  network.table.applyRoute('b', 's', REMOTE)
  await expectChange('v1@b:1', 'v2@b:1')
  const localService = makeService('s', ['own:1'], 'v2')
  await network.registry.register!(localService)
  await expectChange('v2@own:1')
  await network.registry.deregister!(localService)
  await expectChange('v1@b:1', 'v2@b:1')
  stop()
})
