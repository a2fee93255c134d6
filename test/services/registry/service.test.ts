import t from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { createRegistryService } from '../../../services/registry/service.ts'
import { openPlatformRegistry, type Services } from '../../fixtures/platform-registry.ts'
import { createQuietLog, createService, openClient } from '../../fixtures/sdk-services.ts'

t.test('creating the service does not open a port', async (t) => {
  const { service, close } = createRegistryService({
    createRegistry: () => createMemoryRegistry(),
    log: createQuietLog('registry').log,
  })
  t.equal(service.address, '')
  await close()
})

t.test('the service registers itself while it runs', async (t) => {
  const { address, call, registry, close } = await openPlatformRegistry(t)
  const { services } = await call<Services>('GetService', { service: 'registry' })
  t.match(services, [
    { name: 'registry', nodes: [{ address, metadata: { protocol: 'mx', registry: 'memory' } }] },
  ])
  t.strictSame(
    services[0]?.endpoints.map(({ name, metadata }) => [name, metadata['stream']]),
    [
      ['Registry.GetService', undefined],
      ['Registry.ListServices', undefined],
      ['Registry.Register', undefined],
      ['Registry.Deregister', undefined],
      ['Registry.Watch', 'true'],
    ],
  )
  const events: string[] = []
  registry.watch?.(({ type, service }) => events.push(`${type} ${service.name}`))
  await close()
  t.equal(events.at(-1), 'delete registry')
})

t.test('a service of the same process is visible to remote clients', async (t) => {
  const { call, registry } = await openPlatformRegistry(t)
  const service = createService(t, { name: 'greeter', registry, address: '127.0.0.1:0' })
  service.handle('Greeter', { call: endpoint({ handle: () => ({ ok: true }) }) })
  await service.start()
  const { services } = await call<Services>('GetService', { service: 'greeter' })
  t.match(services, [{ nodes: [{ address: service.address }], metadata: { domain: 'mx' } }])
  t.same(await openClient(t, { registry }).call('greeter', 'Greeter.Call'), { ok: true })
})

t.test('a second close, and a start on a port in use, leave no resource open', async (t) => {
  const { address, close } = await openPlatformRegistry(t)
  const other = createRegistryService({
    createRegistry: () => createMemoryRegistry(),
    address,
    log: createQuietLog('registry').log,
  })
  await t.rejects(other.service.start(), /in use/)
  await other.close()
  await close()
  await close()
})
