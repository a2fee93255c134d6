import t from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import { createProxyFinder } from '../../../platform/rpc-proxy/resolve-upstream.ts'
import { createPools, makeService } from '../../fixtures/services.ts'

t.test('prefers services of the namespace to services of the default namespace', async (t) => {
  const registry = createMemoryRegistry()
  const shop = createMemoryRegistry()
  const all = new Map<string, Registry>([['shop', shop]])
  const { createPool } = createPools()
  const { find, close } = createProxyFinder({
    registry,
    domains: { find: (domain) => all.get(domain) },
    directory: { upstream: () => ({ createPool }) },
  })
  t.teardown(() => {
    close()
    registry.close()
    shop.close()
  })
  registry.register(makeService('both', ['a:1']))
  registry.register(makeService('main', ['a:2']))
  shop.register(makeService('both', ['a:3']))
  const listNodes = async (service: string, metadata: string) =>
    (await find(service, metadata))?.nodes.map(({ host, port }) => `${host}:${port}`)
  t.same(await listNodes('both', ''), ['a:1'])
  t.same(await listNodes('both', 'a: b\r\nmx-namespace: mx\r\n'), ['a:1'])
  t.same(await listNodes('both', 'a: b\r\nmx-namespace: shop\r\n'), ['a:3'])
  t.same(await listNodes('both', 'mx-namespace: none\r\n'), ['a:1'])
  t.same(await listNodes('main', 'mx-namespace: shop\r\n'), ['a:2'])
  t.equal(await listNodes('none', 'mx-namespace: shop\r\n'), undefined)
})
