import t from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import { compareServices, createSortedList } from '../../../services/registry/sorted-list.ts'
import { makeService } from '../../fixtures/services.ts'

function open(t: { teardown: (close: () => unknown) => void }) {
  const clock = { ms: 0 }
  const registry = createMemoryRegistry({ nowMs: () => clock.ms })
  t.teardown(() => registry.close?.())
  return { registry, clock, list: createSortedList(registry) }
}

t.test('services are sorted by name and version after every change', async (t) => {
  const { registry, list, clock } = open(t)
  const names = async (): Promise<string[]> =>
    (await list.list()).map(({ name, version }) => `${name} ${version}`)
  t.strictSame(await names(), [])
  await registry.register?.(makeService('shop.b', ['a:1']))
  await registry.register?.(makeService('shop', ['a:1'], 'v2'), { ttlSeconds: 1 })
  await registry.register?.(makeService('shop', ['a:1'], 'v10'))
  await registry.register?.(makeService('Shop', ['a:1']))
  await registry.register?.(makeService('shop-a', ['a:1']))
  const all = ['Shop latest', 'shop v10', 'shop v2', 'shop-a latest', 'shop.b latest']
  t.strictSame(await names(), all)
  clock.ms = 1000
  t.strictSame(
    await names(),
    ['Shop latest', 'shop v10', 'shop-a latest', 'shop.b latest'],
    'expiry',
  )
  await registry.deregister?.(makeService('Shop', ['a:1']))
  await registry.register?.(makeService('alpha', ['a:1']))
  t.strictSame(await names(), ['alpha latest', 'shop v10', 'shop-a latest', 'shop.b latest'])
})

t.test('the list is sorted once per change', async (t) => {
  const { registry, list } = open(t)
  await registry.register?.(makeService('b', ['a:1']))
  const first = list.list()
  await registry.register?.(makeService('b', ['a:1']))
  t.equal(list.list(), first, 'a heartbeat is not a change')
  await registry.register?.(makeService('b', ['a:2']))
  t.not(list.list(), first)
  t.equal((await list.list())[0]?.nodes.length, 2)
})

t.test('the list of an asynchronous registry without watch is sorted on every read', async (t) => {
  let services = [makeService('b', []), makeService('a', [])]
  const registry: Registry = {
    name: 'remote',
    getService: () => [],
    listServices: async () => services,
  }
  const { list } = createSortedList(registry)
  const names = async () => (await list()).map(({ name }) => name)
  t.strictSame(await names(), ['a', 'b'])
  services = [makeService('d', []), makeService('c', [])]
  t.strictSame(await names(), ['c', 'd'])
})

t.test('a change during a read is included in the next read', async (t) => {
  const { registry: memory } = open(t)
  let answer: (() => void) | undefined
  const registry: Registry = {
    ...memory,
    async listServices() {
      const services = await memory.listServices()
      await new Promise<void>((resolve) => {
        answer = resolve
      })
      return services
    },
  }
  const { list } = createSortedList(registry)
  const sendRequest = async (): Promise<string[]> => {
    const services = list()
    await new Promise(setImmediate)
    answer?.()
    return (await services).map(({ name }) => name)
  }
  await memory.register?.(makeService('b', ['a:1']))
  const early = list()
  await new Promise(setImmediate)
  await memory.register?.(makeService('a', ['a:1']))
  answer?.()
  t.strictSame(
    (await early).map(({ name }) => name),
    ['b'],
  )
  t.strictSame(await sendRequest(), ['a', 'b'])
})

t.test('the order is independent of the locale', async (t) => {
  const toVersion = (name: string, version = 'latest') => ({ name, version })
  t.equal(compareServices(toVersion('a'), toVersion('a')), 0)
  t.equal(compareServices(toVersion('Z'), toVersion('a')), -1)
  t.equal(compareServices(toVersion('b', '1'), toVersion('a', '2')), 1)
  t.equal(compareServices(toVersion('a', '10'), toVersion('a', '9')), -1)
})

t.test('a service is listed before the watch has reported it', async (t) => {
  let services = [makeService('a', [])]
  const { list } = createSortedList({
    name: 'remote',
    getService: () => [],
    listServices: async () => services,
    watch: () => () => {},
  })
  const first = await list()
  t.equal(await list(), first, 'sorted once')
  services = [makeService('b', []), makeService('a', [])]
  t.same(
    (await list()).map(({ name }) => name),
    ['a', 'b'],
  )
})
