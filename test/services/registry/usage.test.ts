import t from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { createStaticRegistry } from '../../../adapters/registry/static.ts'
import { toEntryBytes } from '../../../services/registry/entry.ts'
import { createRegistryUsage } from '../../../services/registry/usage.ts'
import { makeService } from '../../fixtures/services.ts'

t.test('counts versions and bytes, per name and in total', async (t) => {
  const registry = createMemoryRegistry()
  t.teardown(() => registry.close?.())
  const held = createRegistryUsage(registry, 'staging')
  const service = makeService('b', ['a:1'])
  const other = makeService('b', ['a:3'], 'v2')
  await registry.register?.(service)
  await registry.register?.(makeService('b', ['a:2']))
  await registry.register?.(other)
  const merged = makeService('b', ['a:1', 'a:2'])
  const bytes = toEntryBytes(merged, 'staging')
  t.equal(held.size(), 2)
  t.same(held.find(service), { service: merged, bytes })
  t.equal(held.find({ ...service, version: 'x' }), undefined)
  t.equal(held.bytesOf('b'), bytes + toEntryBytes(other, 'staging'))
  t.equal(held.bytes(), held.bytesOf('b'))
  await registry.deregister?.(merged)
  t.strictSame([held.size(), held.find(service)], [1, undefined])
  t.equal(held.bytesOf('b'), toEntryBytes(other, 'staging'))
  await registry.deregister?.(other)
  t.strictSame([held.size(), held.bytesOf('b'), held.bytes()], [0, 0, 0])
  held.close()
  await registry.register?.(service)
  t.equal(held.size(), 0, 'close stops the watch')
})

t.test('counts services of an existing registry once they change', async (t) => {
  const registry = createStaticRegistry([makeService('a', ['a:1'])])
  const held = createRegistryUsage(registry, 'mx')
  t.equal(held.size(), 0)
  registry.replace([makeService('a', ['a:2'])])
  t.equal(held.size(), 1)
})

t.test('finds a registered name that differs only in letter case', async (t) => {
  const registry = createMemoryRegistry()
  t.teardown(() => registry.close?.())
  const held = createRegistryUsage(registry, 'mx')
  t.equal(held.findOtherCase('Shop'), undefined)
  for (const version of ['v1', 'v2'])
    await registry.register?.(makeService('shop', ['a:1'], version))
  t.equal(held.findOtherCase('SHOP'), 'shop')
  t.equal(held.findOtherCase('shop'), undefined)
  await registry.deregister?.(makeService('shop', ['a:1'], 'v1'))
  t.equal(held.findOtherCase('Shop'), 'shop')
  await registry.deregister?.(makeService('shop', ['a:1'], 'v2'))
  t.equal(held.findOtherCase('Shop'), undefined)
})

t.test(
  'finds both of two names that differ only in letter case until they are deregistered',
  async (t) => {
    const registry = createMemoryRegistry()
    t.teardown(() => registry.close?.())
    const held = createRegistryUsage(registry, 'mx')
    for (const name of ['Shop', 'shop']) registry.register(makeService(name, ['a:1']))
    t.equal(held.findOtherCase('shop'), undefined, 'the exact name takes precedence')
    t.equal(held.findOtherCase('Shop'), undefined)
    t.equal(held.findOtherCase('SHOP'), 'Shop')
    registry.deregister(makeService('Shop', ['a:1']))
    t.equal(held.findOtherCase('Shop'), 'shop')
    t.equal(held.findOtherCase('shop'), undefined)
    registry.deregister(makeService('shop', ['a:1']))
    t.equal(held.findOtherCase('Shop'), undefined)
  },
)
