import t from 'tap'
import type { Node, Service } from '../../../core/contracts/registry.ts'
import { formatVersions } from '../../../core/network/entry.ts'
import { createRouteRegistry } from '../../../core/network/route-registry.ts'
import { createRouteTable } from '../../../core/network/route-table.ts'
import { makeService } from '../../fixtures/services.ts'
import type { Teardown } from '../../fixtures/teardown.ts'

const NODES: Readonly<Record<string, Node>> = {
  b: { id: 'b-1', address: 'b:1', metadata: { protocol: 'mx', server: 'b' } },
  c: { id: 'c-1', address: 'c:1', metadata: { protocol: 'mxs', server: 'c' } },
}

/** A registry over a table that listens to b and c, and what it told. */
function open(t: Teardown) {
  const table = createRouteTable({ id: 'a', onChange: (key) => registry.changed(key) })
  const peers = { ...NODES }
  let now = 0
  const registry = createRouteRegistry({
    table,
    findNode: (peer) => peers[peer],
    nowMs: () => now,
  })
  /** A link that breaks. */
  const lose = (peer: string): void => {
    delete peers[peer]
    table.removePeer(peer)
  }
  const pass = (ms: number): void => {
    now += ms
    registry.sweep()
  }
  const told: string[] = []
  registry.watch(({ type, service }) => told.push(`${type} ${toText(service)}`))
  table.setPeer('b', 1)
  table.setPeer('c', 1)
  const learn = (path: string, versions: string, metric = 0): void => {
    const services = versions.split(' ').map((version) => makeService('s', ['own:1'], version))
    const way = { path: path.split(''), metric, entry: formatVersions(services) }
    table.learn(path[0]!, 's', way)
  }
  t.teardown(registry.close)
  return { table, registry, learn, lose, pass, told: () => told.splice(0) }
}

const toText = ({ name, version, nodes }: Service): string =>
  [name, version, ...nodes.map(({ id, metadata }) => `${id}/${metadata['hops']}`)].join(' ')

t.test('a service of others is at the peers that calls may go to', (t) => {
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

t.test('what changes is told, and what makes no difference is not', (t) => {
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
  table.removePeer('b')
  t.strictSame(told(), ['delete s v1'])
  t.end()
})

t.test('of a service that is here nothing is told', (t) => {
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

t.test('services of a lost peer stay without nodes for 95 s', (t) => {
  const { registry, learn, lose, pass, told, table } = open(t)
  learn('b', 'v1')
  learn('c', 'v1')
  told()
  lose('b')
  t.strictSame(told(), ['update s v1 c-1/1'])
  lose('c')
  t.strictSame(told(), ['update s v1'])
  t.match(registry.getService('s'), [{ name: 's', version: 'v1', nodes: [] }])
  t.match(registry.listServices(), [{ name: 's', nodes: [] }])
  pass(94_000)
  t.equal(registry.getService('s').length, 1)
  pass(2000)
  t.strictSame(told(), ['delete s v1'])
  t.strictSame(registry.getService('s'), [])
  t.strictSame(registry.listServices(), [])
  table.setOwn('s', null)
  t.strictSame(told(), [])
  t.end()
})

t.test('a service of a lost peer that is here now, or that was withdrawn, is not kept', (t) => {
  const { registry, learn, lose, told, table } = open(t)
  learn('b', 'v1')
  lose('b')
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
