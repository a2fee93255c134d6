import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { createJoinedRegistry } from '../../../adapters/registry/overlay-registry.ts'
import { createStaticRegistry } from '../../../adapters/registry/static.ts'
import type { Registry, WatchOptions } from '../../../core/contracts/registry.ts'
import { type RegistrySubject, testRegistry } from '../../contracts/registry.ts'
import { tick, waitUntil } from '../../fixtures/raw-backend.ts'
import { makeService, replaceServices } from '../../fixtures/services.ts'

const LOCAL_GREETER = makeService('greeter', ['127.0.0.1:9001'])
const REMOTE_GREETER = makeService('greeter', ['127.0.0.1:9002'])
const REMOTE_GREETER_2 = makeService('greeter', ['127.0.0.1:9003'], 'next')
const USERS = makeService('users', ['127.0.0.1:9004'])

type Watchable = Registry & Required<Pick<Registry, 'watch'>>

for (const side of ['own', 'other'] as const) {
  t.test(`events of ${side} services come from their registry`, async (t) => {
    testRegistry(t, (): RegistrySubject => {
      const local = createStaticRegistry([])
      const memory = createMemoryRegistry() as Watchable
      const listeners = new Set<WatchOptions['onOutage']>()
      const reportOutage = (reason: Error | undefined): void => {
        for (const onOutage of listeners) onOutage?.(reason)
      }
      const other: Watchable = {
        ...memory,
        watch(listener, options) {
          listeners.add(options?.onOutage)
          return memory.watch(listener, options)
        },
      }
      return {
        registry: createJoinedRegistry(local, other),
        ...(side === 'other' && {
          async restart(services) {
            reportOutage(new Error('unavailable'))
            await replaceServices(memory, services)
            reportOutage(undefined)
          },
        }),
        replaceServices: (services) =>
          side === 'own' ? local.replace(services) : replaceServices(other, services),
      }
    })
  })
}

/** Both registries, and the events emitted by the overlay. */
async function open(t: Test, options: WatchOptions = {}) {
  const local = createStaticRegistry([])
  const memory = createMemoryRegistry()
  let isUnavailable = false
  let onOutage: WatchOptions['onOutage']
  const other = {
    ...memory,
    getService(name: string) {
      if (isUnavailable) throw new Error('unavailable')
      return memory.getService(name)
    },
    watch(listener: Parameters<Watchable['watch']>[0], input: WatchOptions = {}) {
      onOutage = input.onOutage
      return memory.watch!(listener, input)
    },
  }
  const registry = createJoinedRegistry(local, other)
  t.teardown(() => registry.close?.())
  await replaceServices(memory, [REMOTE_GREETER, REMOTE_GREETER_2, USERS])
  const events: string[] = []
  const stop = registry.watch(({ type, service: { name, version, nodes } }) => {
    events.push([type, name, version, ...nodes.map(({ address }) => address)].join(' '))
  }, options)
  const setOutage = (reason: Error | undefined): void => {
    isUnavailable = reason !== undefined
    onOutage?.(reason)
  }
  return { local, other: memory, registry, events, stop, setOutage }
}

t.test('hides all registered versions behind a configured service', async (t) => {
  const { local, registry } = await open(t)
  local.replace([LOCAL_GREETER])
  t.same(await registry.getService('greeter'), [LOCAL_GREETER])
  t.same(await registry.listServices(), [LOCAL_GREETER, USERS])
  local.replace([])
  t.same(await registry.getService('greeter'), [REMOTE_GREETER, REMOTE_GREETER_2])
})

t.test('emits the changes when a name moves between the registries', async (t) => {
  const { local, other, events } = await open(t)
  local.replace([LOCAL_GREETER])
  await waitUntil(() => events.length === 2)
  t.same(events.splice(0), ['create greeter latest 127.0.0.1:9001', 'delete greeter next'])
  await other.deregister!(REMOTE_GREETER_2)
  await other.register!(makeService('greeter', ['127.0.0.1:9005']))
  t.same(events, [], 'changes of the hidden service are not reported')
  local.replace([])
  await waitUntil(() => events.length === 2)
  t.same(events, ['delete greeter latest', 'create greeter latest 127.0.0.1:9002 127.0.0.1:9005'])
})

t.test('emits a name that moves during an outage after the outage', async (t) => {
  const reasons: unknown[] = []
  const { local, events, setOutage } = await open(t, {
    onOutage: (reason) => reasons.push(reason ?? events.length),
  })
  local.replace([LOCAL_GREETER])
  await waitUntil(() => events.length === 2)
  events.length = 0
  const reason = new Error('unavailable')
  setOutage(reason)
  local.replace([])
  await tick()
  t.same(events, ['delete greeter latest'])
  setOutage(undefined)
  await waitUntil(() => events.length === 3)
  t.same(events.slice(1).sort(), [
    'create greeter latest 127.0.0.1:9002',
    'create greeter next 127.0.0.1:9003',
  ])
  await tick()
  t.same(reasons, [reason, 3], 'then the end of the outage')
})

t.test('emits nothing after the watch was stopped', async (t) => {
  const { local, events, stop } = await open(t, { service: 'greeter' })
  local.replace([LOCAL_GREETER])
  t.same(events, ['create greeter latest 127.0.0.1:9001'])
  stop()
  await tick()
  local.replace([])
  t.equal(events.length, 1)
})
