import t, { type Test } from 'tap'
import type { Registry, Service } from '../../../core/contracts/registry.ts'
import type { Workload } from '../../../core/contracts/runtime.ts'
import { ServiceCache } from '../../../core/registry/service-cache.ts'
import { createInstanceRegistrar } from '../../../platform/server/instance-registrar.ts'
import { requireNodeOwner, withOwner } from '../../../services/registry/nodes/node-owner.ts'
import { createTestPool } from '../../fixtures/rpc-proxy.ts'
import { createQuietLog, createService, openRegistry } from '../../fixtures/sdk-services.ts'

const WORKLOAD: Workload = {
  ...{ namespace: 'mx', name: 'shop', version: 'v1', revision: '1', instances: 1 },
  ...{ env: {}, resources: {}, protocol: 'mx' },
  program: { kind: 'process', folder: '/', command: ['node'] },
}
const NEVER_ABORTED = new AbortController().signal

function open(t: Test, change = (registry: Registry): Registry => registry) {
  const registry = openRegistry(t)
  const { log } = createQuietLog('runtime')
  const registrar = createInstanceRegistrar({ registryOf: () => change(registry), log })
  /** Registers a service of an instance. */
  const register = (name: string, address: string, instance: string): Service => {
    const node = { id: `${name}-${instance}`, address, metadata: { protocol: 'mx', instance } }
    const service = { name, version: 'latest', metadata: {}, endpoints: [], nodes: [node] }
    void registry.register!(service)
    return service
  }
  return { registry, registrar, register }
}

/** Whether the promise has settled once all pending work is done. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const late = new Promise((resolve) => setImmediate(() => resolve('late')))
  return (await Promise.race([promise, late])) === 'late'
}

t.test('an instance is ready once it is registered under any name and healthy', async (t) => {
  const { registrar, register } = open(t)
  const address = await createService(t, { name: 'greeter' }).start()
  register('greeter', address, 'another')
  const ready = registrar.whenReady(WORKLOAD, 'one', NEVER_ABORTED)
  t.ok(await isPending(ready))
  register('greeter', address, 'one')
  await ready
  await registrar.whenReady(WORKLOAD, 'one', NEVER_ABORTED)
  t.pass('ready if it was registered before')
})

t.test('deregisters only the crashed instance', async (t) => {
  const { registrar, registry, register } = open(t)
  const address = await createService(t, { name: 'greeter' }).start()
  register('greeter', address, 'one')
  register('greeter', '127.0.0.1:1', 'two')
  register('shop', '127.0.0.1:2', 'three')
  await registrar.whenReady(WORKLOAD, 'one', NEVER_ABORTED)
  await registrar.forget(WORKLOAD, 'one')
  t.match(await registry.getService('greeter'), [{ nodes: [{ id: 'greeter-two' }] }])
  await registrar.forget(WORKLOAD, 'three')
  t.same(await registry.getService('shop'), [], 'even before it is ready')
  await registrar.forget(WORKLOAD, 'one')
})

t.test('polls the health until it succeeds or the signal aborts', async (t) => {
  const { registrar, register } = open(t)
  register('greeter', '127.0.0.1:1', 'one')
  const cancellation = new AbortController()
  const ready = registrar.whenReady(WORKLOAD, 'one', cancellation.signal)
  t.ok(await isPending(ready))
  cancellation.abort(new Error('enough'))
  await t.rejects(ready, { message: 'enough' })
  await t.rejects(registrar.whenReady(WORKLOAD, 'two', cancellation.signal), { message: 'enough' })
  const late = new AbortController()
  const unreadyInstance = registrar.whenReady(WORKLOAD, 'two', late.signal)
  late.abort(new Error('too late'))
  await t.rejects(unreadyInstance, { message: 'too late' })
})

t.test('queries each service if the registry lists services without nodes', async (t) => {
  const { registrar, register } = open(t, (registry) => ({
    ...registry,
    async listServices() {
      return (await registry.listServices()).map((service) => ({ ...service, nodes: [] }))
    },
  }))
  register('greeter', await createService(t, { name: 'greeter' }).start(), 'one')
  await registrar.whenReady(WORKLOAD, 'one', NEVER_ABORTED)
})

t.test('finds an instance if only watches of its service report new nodes', async (t) => {
  const { registrar, register } = open(t, (registry) => ({
    ...registry,
    watch: (listener, options) =>
      options?.service === undefined ? () => {} : registry.watch!(listener, options),
  }))
  const address = await createService(t, { name: 'shop' }).start()
  register('shop', '127.0.0.1:1', 'another')
  const ready = registrar.whenReady(WORKLOAD, 'one', NEVER_ABORTED)
  t.ok(await isPending(ready))
  register('shop', address, 'one')
  await ready
})

t.test(
  'registers a program without the SDK, and drains it before it is deregistered',
  async (t) => {
    const { registrar, registry } = open(t)
    const states: unknown[] = []
    registry.watch!(({ type, service }) => {
      states.push([type, service.nodes[0]?.metadata['state']])
    })
    const registration = await registrar.register(WORKLOAD, 'one', '127.0.0.1:5')
    t.match(await registry.getService('shop'), [
      {
        version: 'v1',
        endpoints: [{ metadata: { path: '/shop,/shop/**', handler: 'web' } }],
        nodes: [{ address: '127.0.0.1:5', metadata: { protocol: 'http' } }],
      },
    ])
    await registration.leave()
    t.same(states, [
      ['create', undefined],
      ['update', 'draining'],
      ['delete', undefined],
    ])
  },
)

t.test('an instance that is down stays registered and receives no calls', async (t) => {
  const { registrar, registry } = open(t)
  const directory = new ServiceCache(registry, { upstream: () => ({ createPool: createTestPool }) })
  t.teardown(() => directory.close())
  const listNodeIds = async () => (await directory.find('shop'))?.nodes.map(({ id }) => id)
  const first = await registrar.register(WORKLOAD, 'one', '127.0.0.1:5')
  t.same(await listNodeIds(), ['shop-one'])
  await first.markFailed()
  t.same(await listNodeIds(), [], 'registered with its routes but without nodes, so it returns 503')
  t.match(await registry.getService('shop'), [
    { endpoints: [{ metadata: { handler: 'web' } }], nodes: [{ metadata: { state: 'down' } }] },
  ])
  const second = await registrar.register(WORKLOAD, 'two', '127.0.0.1:6')
  t.same(await listNodeIds(), ['shop-two'])
  await first.leave()
  t.match(await registry.getService('shop'), [{ nodes: [{ address: '127.0.0.1:6' }] }])
  await second.markFailed()
  await second.leave()
  t.equal(await listNodeIds(), undefined)
})

t.test('a registered program retains its name, even while it is down or draining', async (t) => {
  const { registrar, registry } = open(t)
  const domain = { registry, namespace: 'mx' }
  const toAccount = (id: string, scope: string) => ({
    ...{ id, name: id, issuer: 'mx', type: 'service', metadata: {}, scopes: [scope] },
  })
  const external = toAccount('external', 'service')
  const checkTakeover = async (state?: string): Promise<void> => {
    const [entry] = await registry.getService('shop')
    t.equal(entry?.nodes[0]?.metadata['state'], state)
    const duplicate = { ...entry!, nodes: [{ id: 'a', address: '127.0.0.1:9', metadata: {} }] }
    for (const service of [duplicate, { ...duplicate, version: 'v2' }, withOwner(entry!, external)])
      await t.rejects(requireNodeOwner(service, domain, external, 'registry'), { code: 409 })
    const workload = toAccount('shop@v1', 'workload:mx/shop')
    await requireNodeOwner(duplicate, domain, workload, 'registry')
  }
  const draining: Promise<void>[] = []
  registry.watch!(({ service }) => {
    if (service.nodes[0]?.metadata['state'] === 'draining') draining.push(checkTakeover('draining'))
  })
  const registration = await registrar.register(WORKLOAD, 'one', '127.0.0.1:5')
  await checkTakeover()
  await registration.markFailed()
  await checkTakeover('down')
  await registration.leave()
  const second = await registrar.register(WORKLOAD, 'two', '127.0.0.1:6')
  await second.leave()
  await Promise.all(draining)
  t.ok(draining.length > 0)
})
