import t from 'tap'
import type { Node, Service } from '../../../../core/contracts/registry.ts'
import { formatVersions } from '../../../../domain/mesh/registry/entry.ts'
import { createRouteRegistry } from '../../../../domain/mesh/registry/route-registry.ts'
import { createRouteTable } from '../../../../domain/mesh/routing-table.ts'
import { makeService } from '../../../fixtures/services.ts'
import type { Teardown } from '../../../fixtures/teardown.ts'

const NODES: Readonly<Record<string, Node>> = {
  b: { id: 'b-1', address: 'b:1', metadata: { protocol: 'mx', server: 'b' } },
  c: { id: 'c-1', address: 'c:1', metadata: { protocol: 'mxs', server: 'c' } },
}

const DAY_MS = 24 * 60 * 60_000

/** Opens a registry over a table with the peers b and c, and records its events. */
function open(t: Teardown) {
  const table = createRouteTable({ id: 'a', onChange: (key) => registry.changed(key) })
  let now = 0
  const registry = createRouteRegistry({
    table,
    findNode: (peer) => NODES[peer],
    nowMs: () => now,
  })
  const advance = (ms: number): void => {
    now += ms
    registry.sweep()
  }
  const events: string[] = []
  registry.watch(({ type, service }) => events.push(`${type} ${toText(service)}`))
  table.setPeer('b', 1)
  table.setPeer('c', 1)
  const addServer = (path: string): void =>
    table.applyRoute(path[0]!, `@${path.at(-1)}`, { path: path.split(''), metric: 0, entry: '{}' })
  /** Announces a service and its server. */
  const addRoute = (path: string, versions: string, metric = 0): void => {
    addServer(path)
    const services = versions.split(' ').map((version) => makeService('s', ['own:1'], version))
    const route = { path: path.split(''), metric, entry: formatVersions(services) }
    table.applyRoute(path[0]!, 's', route)
  }
  t.teardown(registry.close)
  return {
    table,
    registry,
    addRoute,
    learnServer: addServer,
    advance,
    takeEvents: () => events.splice(0),
  }
}

const toText = ({ name, version, nodes }: Service): string =>
  [name, version, ...nodes.map(({ id, metadata }) => `${id}/${metadata['hops']}`)].join(' ')

t.test('resolves a remote service to the peers that route to it', (t) => {
  const { registry, addRoute, table } = open(t)
  addRoute('bx', 'v1')
  t.strictSame(registry.getService('s'), [
    {
      ...makeService('s', [], 'v1'),
      nodes: [{ ...NODES['b']!, metadata: { protocol: 'mx', server: 'b', hops: '2' } }],
    },
  ])
  addRoute('c', 'v1 v2', 1)
  t.strictSame(
    registry.getService('s').map(toText),
    ['s v1 b-1/2'],
    'the more expensive route is not used',
  )
  addRoute('cx', 'v1 v2')
  t.strictSame(registry.listServices().map(toText), ['s v1 b-1/2 c-1/2', 's v2 c-1/2'])
  t.strictSame(registry.getService('t'), [])
  table.applyRoute('b', '@b', { path: ['b'], metric: 0, entry: '{"address":"","peers":[]}' })
  t.strictSame(registry.getService('@b'), [])
  t.equal(registry.listServices().length, 2, 'servers are not listed as services')
  t.end()
})

t.test('reports changes and omits updates without effect', (t) => {
  const { addRoute, table, takeEvents } = open(t)
  addRoute('bx', 'v1')
  t.strictSame(takeEvents(), ['create s v1 b-1/2'])
  addRoute('by', 'v1')
  addRoute('by', 'v1', 5)
  t.strictSame(takeEvents(), [], 'another route through the same peer')
  addRoute('c', 'v1 v2')
  t.strictSame(takeEvents(), ['update s v1 c-1/1', 'create s v2 c-1/1'])
  addRoute('c', 'v2')
  t.strictSame(takeEvents(), ['update s v2 c-1/1', 'delete s v1'])
  table.removePeer('c')
  t.strictSame(takeEvents(), ['create s v1 b-1/2', 'delete s v2'])
  table.applyRoute('b', 's', undefined)
  t.strictSame(takeEvents(), ['delete s v1'])
  t.end()
})

t.test('reports nothing about a local service', (t) => {
  const { addRoute, table, registry, takeEvents } = open(t)
  addRoute('b', 'v1 v2')
  takeEvents()
  table.setLocal('s', null)
  t.strictSame(takeEvents(), ['delete s v1', 'delete s v2'], 'remote versions are deleted')
  t.strictSame(registry.getService('s'), [])
  t.strictSame(registry.listServices(), [])
  addRoute('b', 'v3')
  t.strictSame(takeEvents(), [])
  table.setLocal('s', undefined)
  t.strictSame(takeEvents(), ['create s v3 b-1/1'])
  t.end()
})

t.test('retains services of a disconnected peer without nodes for a day', (t) => {
  const { registry, addRoute, advance, takeEvents, table } = open(t)
  addRoute('b', 'v1')
  addRoute('c', 'v1')
  takeEvents()
  table.removePeer('b')
  t.strictSame(takeEvents(), ['update s v1 c-1/1'])
  table.removePeer('c')
  t.strictSame(takeEvents(), ['update s v1'])
  t.match(registry.getService('s'), [{ name: 's', version: 'v1', nodes: [] }])
  t.match(registry.listServices(), [{ name: 's', nodes: [] }])
  advance(DAY_MS - 1000)
  t.equal(registry.getService('s').length, 1)
  advance(2000)
  t.strictSame(takeEvents(), ['delete s v1'])
  t.strictSame(registry.getService('s'), [])
  t.strictSame(registry.listServices(), [])
  table.setLocal('s', null)
  t.strictSame(takeEvents(), [])
  t.end()
})

t.test(
  'marks a service behind a peer as lost together with its server, and removes a withdrawn service',
  (t) => {
    const { registry, addRoute, takeEvents, table } = open(t)
    addRoute('bx', 'v1')
    addRoute('by', 'v1')
    takeEvents()
    table.applyRoute('b', '@x', undefined)
    table.applyRoute('b', 's', undefined)
    t.strictSame(takeEvents(), ['delete s v1'], 'y had the last route')
    addRoute('by', 'v1')
    table.applyRoute('b', '@y', undefined)
    table.applyRoute('b', 's', undefined)
    t.match(registry.getService('s'), [{ name: 's', version: 'v1', nodes: [] }])
    t.strictSame(takeEvents(), ['create s v1 b-1/2', 'update s v1'])
    addRoute('c', 'v2')
    t.strictSame(
      takeEvents(),
      ['create s v2 c-1/1', 'delete s v1'],
      'another server provides the service',
    )
    table.applyRoute('c', 's', undefined)
    t.strictSame(registry.listServices(), [])
    t.end()
  },
)

t.test('removes a lost service 95 s after its server returns', (t) => {
  const { registry, addRoute, learnServer: addServer, advance, table } = open(t)
  addRoute('bx', 'v1')
  table.removePeer('b')
  table.setPeer('b', 1)
  advance(1000)
  addServer('bx')
  advance(94_000)
  table.applyRoute('b', '@x', undefined)
  advance(5000)
  addServer('bx')
  advance(5000)
  advance(94_000)
  t.equal(registry.getService('s').length, 1, 'counted from the last return of the server')
  advance(2000)
  t.strictSame(registry.getService('s'), [])
  t.end()
})

t.test('does not retain a service that has become local or was withdrawn', (t) => {
  const { registry, addRoute, takeEvents, table } = open(t)
  addRoute('b', 'v1')
  table.removePeer('b')
  takeEvents()
  table.setLocal('s', null)
  t.strictSame(takeEvents(), ['delete s v1'])
  t.strictSame(registry.getService('s'), [])
  table.setLocal('s', undefined)
  addRoute('c', 'v1')
  takeEvents()
  table.applyRoute('c', 's', undefined)
  t.strictSame(takeEvents(), ['delete s v1'])
  t.strictSame(registry.listServices(), [])
  t.end()
})

t.test('restores services known before a restart as lost until there is a route', (t) => {
  const before = open(t)
  before.addRoute('bx', 'v1 v2')
  const [known] = before.registry.listKnown()
  const versions = ['v1', 'v2'].map((version) => ({ version, metadata: {}, endpoints: [] }))
  t.strictSame(known, { name: 's', versions, owners: ['x'], ageMs: 0 })
  before.table.removePeer('b')
  before.advance(5000)
  t.strictSame(before.registry.listKnown(), [{ ...known!, ageMs: 5000 }])

  const { registry, addRoute, takeEvents, table, advance } = open(t)
  table.setLocal('mine', null)
  registry.restore([
    { ...known!, ageMs: DAY_MS - 1000 },
    { ...known!, name: 'mine' },
    { ...known!, name: 'store' },
    { ...known!, name: 't' },
  ])
  t.strictSame(takeEvents().length, 4, 'without local and platform services')
  t.strictSame(registry.getService('s').map(toText), ['s v1', 's v2'])
  advance(1000)
  t.strictSame(
    takeEvents(),
    ['delete s v1', 'delete s v2'],
    'a restart does not extend the retention',
  )
  registry.restore([known!])
  takeEvents()
  addRoute('bx', 'v2')
  t.strictSame(takeEvents(), ['update s v2 b-1/2', 'delete s v1'])
  table.setLocal('t', null)
  t.strictSame(registry.listServices().map(toText), ['s v2 b-1/2'])
  t.end()
})
