import t from 'tap'
import { listServers, type ServerTree, toGraph } from '../../../domain/mesh/graph.ts'
import { toServerKey } from '../../../domain/mesh/names.ts'
import { formatServer } from '../../../domain/mesh/registry/entry.ts'
import { createRouteTable, type RouteTable } from '../../../domain/mesh/routing-table.ts'

/** The routing table of a after updates from b about these servers. */
function open(peers: Readonly<Record<string, string>>): RouteTable {
  const table = createRouteTable({ id: 'a', onChange: () => {} })
  table.setPeer('b', 1)
  const toEntry = (id: string): string =>
    formatServer({ address: `mx://${id}:1`, peers: peers[id]!.split('') })
  table.setLocal(toServerKey('a'), toEntry('a'))
  table.setLocal('greeter', '[]')
  const expectedPaths: Record<string, string> = { b: 'b', c: 'bc', d: 'bd' }
  for (const [id, expectedPath] of Object.entries(expectedPaths)) {
    const path = expectedPath.split('')
    if (peers[id] !== undefined)
      table.applyRoute('b', toServerKey(id), { path, metric: path.length, entry: toEntry(id) })
  }
  return table
}

const toText = ({ id, peers }: ServerTree): string =>
  peers.length === 0 ? id : `${id}(${peers.map(toText).join(' ')})`

t.test('lists reachable servers, nearest first', (t) => {
  t.strictSame(
    listServers(open({ a: 'b', b: 'acd', c: 'bd', d: 'bc' })).map(({ id, hops, address }) => [
      id,
      hops,
      address,
    ]),
    [
      ['a', 0, 'mx://a:1'],
      ['b', 1, 'mx://b:1'],
      ['c', 2, 'mx://c:1'],
      ['d', 2, 'mx://d:1'],
    ],
  )
  t.end()
})

t.test('lists all links, and the peers of each server once', (t) => {
  const graph = (peers: Record<string, string>, depth = 9): string =>
    toText(toGraph(open(peers), 'a', depth))
  t.equal(graph({ a: '' }), 'a')
  t.equal(graph({ a: 'b', b: 'ac', c: 'b' }), 'a(b(c))')
  t.equal(graph({ a: 'b', b: 'acd', c: 'bd', d: 'bc' }), 'a(b(c(d) d(c)))')
  t.equal(graph({ a: 'b', b: 'acd', c: 'bd', d: 'bc' }, 1), 'a(b)')
  t.equal(graph({ a: 'b', b: 'acd', c: 'bd', d: 'bc' }, 2), 'a(b(c d))')
  t.equal(graph({ a: 'b', b: 'ax' }), 'a(b(x))', 'a peer without a route is included')
  t.equal(graph({ a: 'bc', b: 'ac', c: 'ba' }), 'a(b(c) c(b))')
  t.end()
})
