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

/** A registry over a table that listens to b and c, and what it told. */
function open(t: Teardown) {
  const table = createRouteTable({ id: 'a', onChange: (key) => registry.changed(key) })
  let now = 0
  const registry = createRouteRegistry({
    table,
    findNode: (peer) => NODES[peer],
    nowMs: () => now,
  })
  const pass = (ms: number): void => {
    now += ms
    registry.sweep()
  }
  const told: string[] = []
  registry.watch(({ type, service }) => told.push(`${type} ${toText(service)}`))
  table.setPeer('b', 1)
  table.setPeer('c', 1)
  const learnServer = (path: string): void =>
    table.learn(path[0]!, `@${path.at(-1)}`, { path: path.split(''), metric: 0, entry: '{}' })
  /** Announces a service, and the server that has it. */
  const learn = (path: string, versions: string, metric = 0): void => {
    learnServer(path)
    const services = versions.split(' ').map((version) => makeService('s', ['own:1'], version))
    const way = { path: path.split(''), metric, entry: formatVersions(services) }
    table.learn(path[0]!, 's', way)
  }
  t.teardown(registry.close)
  return { table, registry, learn, learnServer, pass, told: () => told.splice(0) }
}

const toText = ({ name, version, nodes }: Service): string =>
  [name, version, ...nodes.map(({ id, metadata }) => `${id}/${metadata['hops']}`)].join(' ')

t.test('resolves a remote service to the peers that route to it', (t) => {
  const { registry, learn, table } = open(t)
  learn('bx', 'v1')
  t.strictSame(registry.getService('s'), [
    {
      ...makeService('s', [], 'v1'),
      nodes: [{ ...NODES['b']!, metadata: { protocol: 'mx', server: 'b', hops: '2' } }],
    },
  ])
  learn('c', 'v1 v2', 1)
  t.strictSame(registry.getService('s').map(toText), ['s v1 b-1/2'], 'the dearer one is not')
  learn('cx', 'v1 v2')
  t.strictSame(registry.listServices().map(toText), ['s v1 b-1/2 c-1/2', 's v2 c-1/2'])
  t.strictSame(registry.getService('t'), [])
  table.learn('b', '@b', { path: ['b'], metric: 0, entry: '{"address":"","peers":[]}' })
  t.strictSame(registry.getService('@b'), [])
  t.equal(registry.listServices().length, 2, 'servers are no services')
  t.end()
})

t.test('reports changes and omits updates without effect', (t) => {
  const { learn, table, told } = open(t)
  learn('bx', 'v1')
  t.strictSame(told(), ['create s v1 b-1/2'])
  learn('by', 'v1')
  learn('by', 'v1', 5)
  t.strictSame(told(), [], 'another way over the same peer')
  learn('c', 'v1 v2')
  t.strictSame(told(), ['update s v1 c-1/1', 'create s v2 c-1/1'])
  learn('c', 'v2')
  t.strictSame(told(), ['update s v2 c-1/1', 'delete s v1'])
  table.removePeer('c')
  t.strictSame(told(), ['create s v1 b-1/2', 'delete s v2'])
  table.learn('b', 's', undefined)
  t.strictSame(told(), ['delete s v1'])
  t.end()
})

t.test('reports nothing about a local service', (t) => {
  const { learn, table, registry, told } = open(t)
  learn('b', 'v1 v2')
  told()
  table.setOwn('s', null)
  t.strictSame(told(), ['delete s v1', 'delete s v2'], 'any more')
  t.strictSame(registry.getService('s'), [])
  t.strictSame(registry.listServices(), [])
  learn('b', 'v3')
  t.strictSame(told(), [])
  table.setOwn('s', undefined)
  t.strictSame(told(), ['create s v3 b-1/1'])
  t.end()
})

t.test('retains services of a lost peer without nodes for a day', (t) => {
  const { registry, learn, pass, told, table } = open(t)
  learn('b', 'v1')
  learn('c', 'v1')
  told()
  table.removePeer('b')
  t.strictSame(told(), ['update s v1 c-1/1'])
  table.removePeer('c')
  t.strictSame(told(), ['update s v1'])
  t.match(registry.getService('s'), [{ name: 's', version: 'v1', nodes: [] }])
  t.match(registry.listServices(), [{ name: 's', nodes: [] }])
  pass(DAY_MS - 1000)
  t.equal(registry.getService('s').length, 1)
  pass(2000)
  t.strictSame(told(), ['delete s v1'])
  t.strictSame(registry.getService('s'), [])
  t.strictSame(registry.listServices(), [])
  table.setOwn('s', null)
  t.strictSame(told(), [])
  t.end()
})

t.test(
  'marks a service behind a peer as lost with its server, and removes a withdrawn one',
  (t) => {
    const { registry, learn, told, table } = open(t)
    learn('bx', 'v1')
    learn('by', 'v1')
    told()
    table.learn('b', '@x', undefined)
    table.learn('b', 's', undefined)
    t.strictSame(told(), ['delete s v1'], 'y had it last')
    learn('by', 'v1')
    table.learn('b', '@y', undefined)
    table.learn('b', 's', undefined)
    t.match(registry.getService('s'), [{ name: 's', version: 'v1', nodes: [] }])
    t.strictSame(told(), ['create s v1 b-1/2', 'update s v1'])
    learn('c', 'v2')
    t.strictSame(told(), ['create s v2 c-1/1', 'delete s v1'], 'another server has it now')
    table.learn('c', 's', undefined)
    t.strictSame(registry.listServices(), [])
    t.end()
  },
)

t.test('removes a lost service 95 s after its server returns', (t) => {
  const { registry, learn, learnServer, pass, table } = open(t)
  learn('bx', 'v1')
  table.removePeer('b')
  table.setPeer('b', 1)
  pass(1000)
  learnServer('bx')
  pass(94_000)
  table.learn('b', '@x', undefined)
  pass(5000)
  learnServer('bx')
  pass(5000)
  pass(94_000)
  t.equal(registry.getService('s').length, 1, 'counted from the last time that it came back')
  pass(2000)
  t.strictSame(registry.getService('s'), [])
  t.end()
})

t.test('does not retain a service that is local now or was withdrawn', (t) => {
  const { registry, learn, told, table } = open(t)
  learn('b', 'v1')
  table.removePeer('b')
  told()
  table.setOwn('s', null)
  t.strictSame(told(), ['delete s v1'])
  t.strictSame(registry.getService('s'), [])
  table.setOwn('s', undefined)
  learn('c', 'v1')
  told()
  table.learn('c', 's', undefined)
  t.strictSame(told(), ['delete s v1'])
  t.strictSame(registry.listServices(), [])
  t.end()
})

t.test('restores services known before a restart as lost until there is a route', (t) => {
  const before = open(t)
  before.learn('bx', 'v1 v2')
  const [known] = before.registry.listKnown()
  const versions = ['v1', 'v2'].map((version) => ({ version, metadata: {}, endpoints: [] }))
  t.strictSame(known, { name: 's', versions, owners: ['x'], ageMs: 0 })
  before.table.removePeer('b')
  before.pass(5000)
  t.strictSame(before.registry.listKnown(), [{ ...known!, ageMs: 5000 }])

  const { registry, learn, told, table, pass } = open(t)
  table.setOwn('mine', null)
  registry.restore([
    { ...known!, ageMs: DAY_MS - 1000 },
    { ...known!, name: 'mine' },
    { ...known!, name: 'store' },
    { ...known!, name: 't' },
  ])
  t.strictSame(told().length, 4, 'no service of this server, none of the platform')
  t.strictSame(registry.getService('s').map(toText), ['s v1', 's v2'])
  pass(1000)
  t.strictSame(told(), ['delete s v1', 'delete s v2'], 'a restart does not prolong the day')
  registry.restore([known!])
  told()
  learn('bx', 'v2')
  t.strictSame(told(), ['update s v2 b-1/2', 'delete s v1'])
  table.setOwn('t', null)
  t.strictSame(registry.listServices().map(toText), ['s v2 b-1/2'])
  t.end()
})
