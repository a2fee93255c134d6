import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { createNetwork } from '../../../domain/mesh/network.ts'
import { formatVersions } from '../../../domain/mesh/registry/entry.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import { createStore, type Store } from '../../../domain/store/store.ts'
import { createKnownServices } from '../../../services/network/known-services.ts'
import { makeServiceWithEndpoints } from '../../fixtures/endpoints.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'

/** The network of server a, which discovers services through peer b. */
function open(t: Test, store: Pick<Store, 'read' | 'commit' | 'maxValueBytes'>) {
  const registry = createMemoryRegistry()
  const network = createNetwork({ id: 'a', registry })
  const { log, lines } = createQuietLog('network')
  const knownServices = createKnownServices({
    store,
    key: 'a',
    source: network.routes,
    log,
    saveMs: 1,
  })
  t.teardown(() => {
    network.close()
    registry.close?.()
  })
  network.table.setPeer('b', 1)
  const addServices = (...names: string[]): void => {
    network.nodes.set('b', { id: 'b-1', address: 'b:1', metadata: { protocol: 'mx' } })
    for (const name of names) {
      const endpoints = { 'A.Call': {}, 'A.List': { path: `/${name}/list` } }
      const entry = formatVersions([makeServiceWithEndpoints(name, endpoints, 'v1')])
      network.table.applyRoute('b', name, { path: ['b'], metric: 0, entry })
    }
  }
  const list = async () => (await network.registry.listServices()).map(({ name }) => name)
  return { network, knownServices, addServices, list, lines }
}

function openStore(t: Test, maxValueBytes = 1024 * 1024): Store {
  const store = createStore(createMemoryStore(), { maxValueBytes })
  t.teardown(store.close)
  return store
}

t.test(
  'after a restart, services of other servers exist without nodes but with their declared paths',
  async (t) => {
    const store = openStore(t)
    const first = open(t, store)
    await first.knownServices.open()
    t.strictSame(await first.list(), [])
    first.addServices('greeter')
    // A killed server cannot save its state on exit.
    await eventually(async () => (await store.read(TABLE, 'a')) !== undefined)
    const second = open(t, store)
    await second.knownServices.open()
    t.strictSame(await second.network.registry.getService('greeter'), [
      makeServiceWithEndpoints('greeter', { 'A.List': { path: '/greeter/list' } }, 'v1'),
    ])
    second.addServices('users')
    await second.knownServices.close()
    const third = open(t, store)
    await third.knownServices.open()
    t.strictSame((await third.list()).sort(), ['greeter', 'users'])
    await first.knownServices.close()
    await third.knownServices.close()
  },
)

t.test('saves as many services as fit into a value of the store', async (t) => {
  const store = openStore(t, 2000)
  const first = open(t, store)
  await first.knownServices.open()
  first.addServices(...Array.from({ length: 100 }, (_, i) => `service-${i}`))
  await first.knownServices.close()
  const second = open(t, store)
  await second.knownServices.open()
  const names = await second.list()
  t.ok(names.length > 8 && names.length < 20, `${names.length} services`)
  await second.knownServices.close()
  t.strictSame(second.lines, [])
})

t.test('a failing store is logged once for reading and once for writing', async (t) => {
  const fail = async (): Promise<never> => {
    throw new Error('store unavailable')
  }
  const { knownServices, addServices, lines } = open(t, {
    read: fail,
    commit: fail,
    maxValueBytes: 1000,
  })
  await knownServices.open()
  addServices('greeter')
  await eventually(async () => lines.length === 2)
  await knownServices.close()
  t.match(lines, [/cannot restore known services/, /cannot save known services/])
})

t.test('a server without known services writes nothing', async (t) => {
  const store = openStore(t)
  const { knownServices } = open(t, store)
  await knownServices.open()
  await knownServices.close()
  t.equal(await store.read(TABLE, 'a'), undefined)
})

t.test('services with descriptions too long to save do not displace other services', async (t) => {
  const store = openStore(t, 1000)
  const first = open(t, store)
  await first.knownServices.open()
  first.addServices('a'.repeat(250), ...Array.from('bcd', (character) => character.repeat(10)))
  first.addServices('e'.repeat(253))
  await first.knownServices.close()
  const second = open(t, store)
  await second.knownServices.open()
  t.strictSame((await second.list()).map((name) => name[0]).sort(), ['b', 'c', 'd'])
  await second.knownServices.close()
})

t.test('close before open retains the record of an earlier process', async (t) => {
  const store = openStore(t)
  const first = open(t, store)
  await first.knownServices.open()
  first.addServices('greeter')
  await first.knownServices.close()
  const second = open(t, store)
  second.addServices('users')
  await second.knownServices.close()
  const third = open(t, store)
  await third.knownServices.open()
  t.strictSame(await third.list(), ['greeter'])
  await third.knownServices.close()
})

t.test('a malformed record is logged and ignored', async (t) => {
  const store = openStore(t)
  const services = [{ name: 'greeter', versions: ['latest'], owners: [], ageMs: 0 }]
  await store.commit([{ table: TABLE, key: 'a', value: encodeRecord({ services }) }])
  const { knownServices, list, lines } = open(t, store)
  await knownServices.open()
  t.strictSame(await list(), [])
  t.match(lines, [/cannot restore known services/])
  await knownServices.close()
})

const TABLE = { database: 'mx', table: 'network' }
