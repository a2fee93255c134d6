import fc from 'fast-check'
import t from 'tap'
import { createMemoryRegistry } from '../../../../adapters/registry/memory.ts'
import type { Registry, RegistryEvent, Service } from '../../../../core/contracts/registry.ts'
import { applyEvent } from '../../../../core/registry/merge-versions.ts'
import { createNetwork } from '../../../../domain/mesh/network.ts'
import { formatVersions } from '../../../../domain/mesh/registry/entry.ts'
import { toRuns } from '../../../fixtures/property-runs.ts'
import { tick, until } from '../../../fixtures/raw-backend.ts'
import { makeNode, makeService } from '../../../fixtures/services.ts'

/** The watch of a registry whose events arrive a tick late. */
type Late = 'none' | 'of all' | 'of one'

/** The network of a, with the peers b and c, over a synchronous or asynchronous registry. */
async function open(isAsync: boolean, late: Late = 'none') {
  const memory = createMemoryRegistry()
  const registry: Registry = {
    ...memory,
    ...(isAsync && {
      getService: async (name) => memory.getService(name),
      listServices: async () => memory.listServices(),
    }),
    watch(listener, options = {}) {
      const isLate = late === (options.service === undefined ? 'of all' : 'of one')
      const hear = isLate ? (event: RegistryEvent) => setImmediate(listener, event) : listener
      return memory.watch(hear, options)
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
const theirs = (path: string, ...versions: string[]) => ({
  path: path.split(''),
  metric: path.length,
  entry: format(...versions),
})
const toText = ({ version, nodes }: Service): string =>
  `${version}@${nodes.map(({ address }) => address).join()}`

const VERSION = fc.constantFrom('v1', 'v2', 'v3')
const STEP = fc.oneof(
  fc.record({ what: fc.constantFrom('register', 'deregister'), version: VERSION }),
  fc.record({
    what: fc.constantFrom('b', 'c'),
    version: fc.constantFrom('v1', 'v2', 'v3', 'v1 v2', 'v2 v3', ''),
  }),
  fc.record({ what: fc.constantFrom('wait', 'ask'), version: fc.constant('') }),
)

t.test('a watch agrees with lookups under random changes', async () => {
  const property = fc.asyncProperty(
    fc.record({
      isAsync: fc.boolean(),
      late: fc.constantFrom<Late>('none', 'of all', 'of one'),
      watchesOne: fc.boolean(),
    }),
    fc.array(STEP, { maxLength: 30, size: 'max' }),
    async ({ isAsync, late, watchesOne }, steps) => {
      const { memory, network } = await open(isAsync, late)
      const { registry, table } = network
      let picture: readonly Service[] = []
      /** Events during a query are applied to its result, as a directory does. */
      let events: RegistryEvent[] = []
      const hear = (event: RegistryEvent): void => {
        events.push(event)
        picture = applyEvent(picture, event)
      }
      const stop = registry.watch!(hear, watchesOne ? { service: 's' } : {})
      for (const { what, version } of steps) {
        const localService = makeService('s', [`own-${version}:1`], version)
        if (what === 'register') memory.register(localService)
        else if (what === 'deregister') memory.deregister(localService)
        else if (what === 'wait') await tick()
        else if (what === 'ask') {
          events = []
          const answer = await registry.getService('s')
          picture = events.reduce(applyEvent, answer)
        } else
          table.applyRoute(
            what,
            's',
            version === '' ? undefined : theirs(what, ...version.split(' ')),
          )
      }
      for (let turns = 0; turns < 4; turns++) await tick()
      const requests = await registry.getService('s')
      const sort = (services: readonly Service[]) => services.map(toText).sort().join(' ')
      stop()
      network.close()
      memory.close?.()
      if (sort(picture) !== sort(requests))
        throw new Error(`${sort(picture)} is not ${sort(requests)}`)
    },
  )
  await fc.assert(property, { numRuns: toRuns(600) })
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
  table.applyRoute('b', 's', theirs('b', 'v1', 'v2'))
  t.strictSame(reported.splice(0), ['create v1@b:1', 'create v2@b:1'])
  const { getService } = memory
  let requests = 0
  Object.assign(memory, {
    getService(name: string) {
      if (requests++ === 0) throw new Error('away')
      return getService(name)
    },
  })
  memory.register(makeService('s', ['own:1'], 'v1'))
  t.strictSame(reported, ['create v1@own:1'])
  await until(() => reported.length > 1)
  t.strictSame(reported.slice(1), ['update v1@own:1', 'delete v2@'])
})
