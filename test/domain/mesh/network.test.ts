import t from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { MAX_ENTRY_BYTES } from '../../../domain/mesh/limits.ts'
import { createNetwork } from '../../../domain/mesh/network.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'

t.test('advertises callable services as soon as they are registered', async (t) => {
  const memory = createMemoryRegistry()
  t.teardown(() => memory.close?.())
  const tooLong: string[] = []
  const changed: string[] = []
  const network = createNetwork({
    id: 'a',
    registry: memory,
    onTooLong: (name) => tooLong.push(name),
  })
  t.teardown(network.close)
  network.listen((key) => changed.push(key))
  await network.start()
  const callable = [makeNode('127.0.0.1:1', { protocol: 'mx' })]
  const metadata = { text: 'x'.repeat(MAX_ENTRY_BYTES) }
  memory.register(makeService('greeter', callable))
  memory.register(makeService('plain', ['127.0.0.1:1']))
  memory.register(makeService('store', callable))
  memory.register({ ...makeService('long', callable), metadata })
  const advertise = (name: string) => network.table.advertise(name, 'b')
  t.match(advertise('greeter'), { path: ['a'], metric: 0, entry: /^\[\{"version":"latest"/ })
  for (const name of ['plain', 'store', 'long']) {
    t.equal(advertise(name), undefined, name)
    t.equal(network.table.findLocal(name), null, 'registered locally, but not advertised')
  }
  t.strictSame(tooLong, ['long'])
  t.strictSame(changed.sort(), ['greeter', 'long', 'plain', 'store'])
  memory.deregister(makeService('greeter', callable))
  t.equal(advertise('greeter'), undefined)
  t.equal(network.table.findLocal('greeter'), undefined)
})

t.test('rejects an invalid option with its name', (t) => {
  const registry = createMemoryRegistry()
  t.teardown(() => registry.close?.())
  t.throws(() => createNetwork({ id: 'a b', registry }), {
    name: 'TypeError',
    message: /^id must be .* got "a b"$/,
  })
  const { watch: _, ...withoutWatch } = registry
  t.throws(() => createNetwork({ id: 'a', registry: withoutWatch }), {
    name: 'TypeError',
    message: 'the registry memory cannot be watched',
  })
  t.end()
})
