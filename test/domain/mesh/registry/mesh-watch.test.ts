import fc from 'fast-check'
import t from 'tap'
import { createMemoryRegistry } from '../../../../adapters/registry/memory.ts'
import type { Registry, RegistryEvent, Service } from '../../../../core/contracts/registry.ts'
import { applyEvent } from '../../../../core/registry/merge-versions.ts'
import { createNetwork } from '../../../../domain/mesh/network.ts'
import { formatVersions } from '../../../../domain/mesh/registry/entry.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'
import { tick, waitUntil } from '../../../fixtures/raw-backend.ts'
import { makeNode, makeService } from '../../../fixtures/services.ts'

/** Watches of the registry whose events arrive one tick later. */
type DelayedWatch = 'none' | 'of all' | 'of one'

/** The network of a, with the peers b and c, over a synchronous or asynchronous registry. */
async function open(isAsync: boolean, delayed: DelayedWatch = 'none') {
  const memory = createMemoryRegistry()
  const registry: Registry = {
    ...memory,
    ...(isAsync && {
      getService: async (name) => memory.getService(name),
      listServices: async () => memory.listServices(),
    }),
    watch(listener, options = {}) {
      const isDelayed = delayed === (options.service === undefined ? 'of all' : 'of one')
      const receive = isDelayed ? (event: RegistryEvent) => setImmediate(listener, event) : listener
      return memory.watch(receive, options)
    },
  }
  const network = createNetwork({ id: 'a', registry })
  await network.start()
  for (const peer of ['b', 'c']) {
    network.nodes.set(peer, makeNode(`${peer}:1`))
    network.table.setPeer(peer, 1)
  }
  return { memory, network }
}

const format = (...versions: string[]): string =>
  formatVersions(versions.map((version) => makeService('s', [], version)))
const toRoute = (path: string, ...versions: string[]) => ({
  path: path.split(''),
  metric: path.length,
  entry: format(...versions),
})
const toText = ({ version, nodes }: Service): string =>
  `${version}@${nodes.map(({ address }) => address).join()}`

const VERSION = fc.constantFrom('v1', 'v2', 'v3')
const STEP = fc.oneof(
  fc.record({ name: fc.constantFrom('register', 'deregister'), version: VERSION }),
  fc.record({
    name: fc.constantFrom('b', 'c'),
    version: fc.constantFrom('v1', 'v2', 'v3', 'v1 v2', 'v2 v3', ''),
  }),
  fc.record({ name: fc.constantFrom('wait', 'query'), version: fc.constant('') }),
)

t.test('a watch is consistent with lookups under random changes', async () => {
  const property = fc.asyncProperty(
    fc.record({
      isAsync: fc.boolean(),
      delayed: fc.constantFrom<DelayedWatch>('none', 'of all', 'of one'),
      watchesOne: fc.boolean(),
    }),
    fc.array(STEP, { maxLength: 30, size: 'max' }),
    async ({ isAsync, delayed, watchesOne }, steps) => {
      const { memory, network } = await open(isAsync, delayed)
      const { registry, table } = network
      let state: readonly Service[] = []
      /** Events during a query are applied to its result, as a directory does. */
      let events: RegistryEvent[] = []
      const receive = (event: RegistryEvent): void => {
        events.push(event)
        state = applyEvent(state, event)
      }
      const stop = registry.watch!(receive, watchesOne ? { service: 's' } : {})
      for (const { name, version } of steps) {
        const localService = makeService('s', [`own-${version}:1`], version)
        if (name === 'register') memory.register(localService)
        else if (name === 'deregister') memory.deregister(localService)
        else if (name === 'wait') await tick()
        else if (name === 'query') {
          events = []
          const result = await registry.getService('s')
          state = events.reduce(applyEvent, result)
        } else
          table.applyRoute(
            name,
            's',
            version === '' ? undefined : toRoute(name, ...version.split(' ')),
          )
      }
      for (let ticks = 0; ticks < 4; ticks++) await tick()
      const expected = await registry.getService('s')
      const sort = (services: readonly Service[]) => services.map(toText).sort().join(' ')
      stop()
      network.close()
      memory.close?.()
      if (sort(state) !== sort(expected)) throw new Error(`${sort(state)} is not ${sort(expected)}`)
    },
  )
  await fc.assert(property, { numRuns: scaleRuns(600) })
})

t.test('retries a registry that is unavailable while a service moves', async (t) => {
  const { memory, network } = await open(true)
  const reported: string[] = []
  const { registry, table } = network
  const stop = registry.watch!(({ type, service }) => reported.push(`${type} ${toText(service)}`))
  t.teardown(() => {
    stop()
    network.close()
    memory.close?.()
  })
  table.applyRoute('b', 's', toRoute('b', 'v1', 'v2'))
  t.strictSame(reported.splice(0), ['create v1@b:1', 'create v2@b:1'])
  const { getService } = memory
  let requests = 0
  Object.assign(memory, {
    getService(name: string) {
      if (requests++ === 0) throw new Error('unavailable')
      return getService(name)
    },
  })
  memory.register(makeService('s', ['own:1'], 'v1'))
  t.strictSame(reported, ['create v1@own:1'])
  await waitUntil(() => reported.length > 1)
  t.strictSame(reported.slice(1), ['update v1@own:1', 'delete v2@'])
})
