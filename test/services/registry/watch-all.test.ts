import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import type { Registry, RegistryEvent, Service } from '../../../core/contracts/registry.ts'
import { createWatchAll } from '../../../services/registry/watch-all.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { makeService } from '../../fixtures/services.ts'

const bare = (service: Service): Service => ({ ...service, nodes: [] })
const toText = ({ type, service }: RegistryEvent): string =>
  [type, service.name, ...service.nodes.map(({ address }) => address)].join(' ')

/**
 * Behaves like Consul. Lists and watches all services without nodes, and reports node changes only to watches of a
 * single service.
 */
function openBare(t: Test): { memory: Registry; registry: Registry; watched: Set<string> } {
  const memory = createMemoryRegistry()
  t.teardown(() => memory.close?.())
  const watched = new Set<string>()
  const registry: Registry = {
    ...memory,
    listServices: async () => (await memory.listServices()).map(bare),
    watch(listener, options = {}) {
      const { service } = options
      if (service === undefined)
        return memory.watch!((event) => {
          if (event.type !== 'update') listener({ ...event, service: bare(event.service) })
        })
      watched.add(service)
      const stop = memory.watch!(listener, options)
      return () => {
        watched.delete(service)
        stop()
      }
    },
  }
  return { memory, registry, watched }
}

t.test('node changes are reported for existing and for new services', async (t) => {
  const { memory, registry, watched } = openBare(t)
  const one = makeService('a', ['a:1'])
  await memory.register!(one)
  const events: string[] = []
  const unwatch = createWatchAll(registry)!((event) => void events.push(toText(event)))
  await waitUntil(() => watched.has('a'))
  await memory.register!(makeService('a', ['a:2']))
  await memory.deregister!(one)
  await memory.register!(makeService('b', ['b:1']))
  await waitUntil(() => events.length === 3)
  await memory.register!(makeService('b', ['b:2']))
  await memory.deregister!(makeService('b', ['b:1', 'b:2']))
  await waitUntil(() => !watched.has('b'))
  await memory.register!(makeService('b', ['b:3']))
  await waitUntil(() => events.length === 6)
  t.strictSame(events, [
    'update a a:1 a:2',
    'update a a:2',
    'create b b:1',
    'update b b:1 b:2',
    'delete b',
    'create b b:3',
  ])
  unwatch()
  t.same([...watched], [], 'all watches have ended')
})

t.test('listeners share the watches, which end with the last listener', async (t) => {
  const { memory, registry, watched } = openBare(t)
  await memory.register!(makeService('a', ['a:1']))
  const watchAll = createWatchAll(registry)!
  const received = [0, 0]
  const stops = received.map((_, i) => watchAll(() => void received[i]!++))
  await waitUntil(() => watched.size === 1)
  await memory.register!(makeService('a', ['a:2']))
  stops[0]!()
  await memory.register!(makeService('a', ['a:3']))
  t.same(received, [1, 2])
  stops[1]!()
  t.equal(watched.size, 0)
})

t.test(
  'a registry that is unreachable at startup is retried, and missed changes are reported',
  async (t) => {
    const { memory, registry, watched } = openBare(t)
    await memory.register!(makeService('a', ['a:1']))
    await memory.register!(makeService('b', ['b:1']))
    let isUnavailable = true
    const whileAvailable = async <T>(sendRequest: () => T): Promise<Awaited<T>> => {
      if (isUnavailable) throw new Error('unavailable')
      return await sendRequest()
    }
    const events: string[] = []
    const unwatch = createWatchAll(
      {
        ...registry,
        getService: (name) => whileAvailable(() => memory.getService(name)),
        listServices: () => whileAvailable(() => registry.listServices()),
      },
      5,
    )!((event) => void events.push(toText(event)))
    await memory.register!(makeService('c', ['c:1']))
    await memory.register!(makeService('a', ['a:2']))
    isUnavailable = false
    await waitUntil(() => watched.size === 3 && events.length >= 3)
    t.same([...events].sort(), ['create c c:1', 'update a a:1 a:2', 'update b b:1'])
    await memory.register!(makeService('b', ['b:2']))
    t.equal(events.at(-1), 'update b b:1 b:2', 'including later changes')
    unwatch()
    t.same([...watched], [])
  },
)

t.test('events with nodes are forwarded unchanged', async (t) => {
  const memory = createMemoryRegistry()
  t.teardown(() => memory.close?.())
  const events: string[] = []
  createWatchAll(memory)!((event) => void events.push(toText(event)))
  await memory.register!(makeService('a', ['a:1']))
  await memory.deregister!(makeService('a', ['a:1']))
  t.strictSame(events, ['create a a:1', 'delete a'])
  t.equal(createWatchAll({ name: 'x', getService: () => [], listServices: () => [] }), undefined)
})
