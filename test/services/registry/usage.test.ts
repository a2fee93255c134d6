import t from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { createStaticRegistry } from '../../../adapters/registry/static.ts'
import { toEntryBytes } from '../../../services/registry/entry.ts'
import { createRegistryUsage } from '../../../services/registry/usage.ts'
import { makeService } from '../../fixtures/services.ts'

t.test('counts versions and bytes, per name and in total', async (t) => {
  const registry = createMemoryRegistry()
  t.teardown(() => registry.close?.())
  const usage = createRegistryUsage(registry, 'staging')
  const service = makeService('b', ['a:1'])
  const other = makeService('b', ['a:3'], 'v2')
  await registry.register?.(service)
  await registry.register?.(makeService('b', ['a:2']))
  await registry.register?.(other)
  const merged = makeService('b', ['a:1', 'a:2'])
  const bytes = toEntryBytes(merged, 'staging')
  t.equal(usage.size(), 2)
  t.same(usage.find(service), { service: merged, bytes })
  t.equal(usage.find({ ...service, version: 'x' }), undefined)
  t.equal(usage.bytesOf('b'), bytes + toEntryBytes(other, 'staging'))
  t.equal(usage.bytes(), usage.bytesOf('b'))
  await registry.deregister?.(merged)
  t.strictSame([usage.size(), usage.find(service)], [1, undefined])
  t.equal(usage.bytesOf('b'), toEntryBytes(other, 'staging'))
  await registry.deregister?.(other)
  t.strictSame([usage.size(), usage.bytesOf('b'), usage.bytes()], [0, 0, 0])
  usage.close()
  await registry.register?.(service)
  t.equal(usage.size(), 0, 'close stops the watch')
})

t.test('counts services of an existing registry once they change', async (t) => {
  const registry = createStaticRegistry([makeService('a', ['a:1'])])
  const usage = createRegistryUsage(registry, 'mx')
  t.equal(usage.size(), 0)
  registry.replace([makeService('a', ['a:2'])])
  t.equal(usage.size(), 1)
})

t.test('finds a registered name that differs only in letter case', async (t) => {
  const registry = createMemoryRegistry()
  t.teardown(() => registry.close?.())
  const usage = createRegistryUsage(registry, 'mx')
  t.equal(usage.findOtherCase('Shop'), undefined)
  for (const version of ['v1', 'v2'])
    await registry.register?.(makeService('shop', ['a:1'], version))
  t.equal(usage.findOtherCase('SHOP'), 'shop')
  t.equal(usage.findOtherCase('shop'), undefined)
  await registry.deregister?.(makeService('shop', ['a:1'], 'v1'))
  t.equal(usage.findOtherCase('Shop'), 'shop')
  await registry.deregister?.(makeService('shop', ['a:1'], 'v2'))
  t.equal(usage.findOtherCase('Shop'), undefined)
})

t.test(
  'finds both of two names that differ only in letter case until they are deregistered',
  async (t) => {
    const registry = createMemoryRegistry()
    t.teardown(() => registry.close?.())
    const usage = createRegistryUsage(registry, 'mx')
    for (const name of ['Shop', 'shop']) registry.register(makeService(name, ['a:1']))
    t.equal(usage.findOtherCase('shop'), undefined, 'the exact name takes precedence')
    t.equal(usage.findOtherCase('Shop'), undefined)
    t.equal(usage.findOtherCase('SHOP'), 'Shop')
    registry.deregister(makeService('Shop', ['a:1']))
    t.equal(usage.findOtherCase('Shop'), 'shop')
    t.equal(usage.findOtherCase('shop'), undefined)
    registry.deregister(makeService('shop', ['a:1']))
    t.equal(usage.findOtherCase('Shop'), undefined)
  },
)
