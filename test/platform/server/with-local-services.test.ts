import t from 'tap'
import { createStaticRegistry } from '../../../adapters/registry/static.ts'
import type { RegistryEvent } from '../../../core/contracts/registry.ts'
import { withLocalServices } from '../../../platform/server/with-local-services.ts'
import { makeService } from '../../fixtures/services.ts'

const isLocal = (address: string): boolean => address === '10.0.0.1:8081'

t.test('finds services of this server and of the registry', async (t) => {
  const other = createStaticRegistry([makeService('web', ['a:1']), makeService('store', ['b:1'])])
  const registry = withLocalServices(other, isLocal)
  const events: RegistryEvent[] = []
  registry.watch!((event) => events.push(event))
  const store = makeService('store', ['10.0.0.1:8081'])
  await registry.register!(store)
  const listNodes = async (name: string) =>
    (await registry.getService(name)).flatMap(({ nodes }) => nodes.map(({ address }) => address))
  t.strictSame(await listNodes('web'), ['a:1'])
  t.strictSame(
    await listNodes('store'),
    ['10.0.0.1:8081'],
    'services of this server hide other services of the same name',
  )
  t.equal(events[0]?.type, 'create')
  await registry.deregister!(store)
  t.strictSame(await listNodes('store'), ['b:1'])
})

t.test('rejects registrations of other services with 501', async (t) => {
  const registry = withLocalServices(createStaticRegistry([]), isLocal)
  const remote = makeService('web', ['10.0.0.1:8081', '10.0.0.2:8081'])
  for (const change of [registry.register!, registry.deregister!])
    t.throws(() => change(remote), {
      code: 501,
      message: 'the registry static is read-only: it discovers services itself',
    })
  t.same(await registry.listServices(), [])
})
