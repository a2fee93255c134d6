import t from 'tap'
import { formatServer } from '../../../domain/mesh/registry/entry.ts'
import { createRouteTable } from '../../../domain/mesh/routing-table.ts'
import type { RouteMessage, RouteQuery } from '../../../services/network/messages.ts'
import { createView } from '../../../services/network/status.ts'

const ANY: RouteQuery = { service: '', address: '', gateway: '', router: '', network: '' }
const PAGE = { limit: 1000, after: '' }

/**
 * Routes of server a. Servers b and c are peers, d is reachable through b, service s runs at c and d, and service own
 * is local.
 */
function open() {
  const table = createRouteTable({ id: 'a', onChange: () => {} })
  for (const peer of ['b', 'c']) table.setPeer(peer, 1)
  const addRoute = (key: string, path: string, entry = '[]'): void =>
    table.applyRoute(path[0]!, key, { path: path.split(''), metric: path.length - 1, entry })
  const toEntry = (id: string, peers: string): string =>
    formatServer({ address: `mx://${id}:1`, peers: peers.split('') })
  table.setLocal('@a', toEntry('a', 'bc'))
  addRoute('@b', 'b', toEntry('b', 'ad'))
  addRoute('@c', 'c', toEntry('c', 'a'))
  addRoute('@d', 'bd', toEntry('d', 'b'))
  table.setLocal('own', null)
  addRoute('s', 'c')
  addRoute('s', 'bd')
  addRoute('t', 'bd')
  addRoute('own', 'bd')
  return createView({ table, id: 'a', network: 'net' })
}

const toText = ({ service, address, gateway, router, link, metric, path }: RouteMessage): string =>
  [service, address, gateway, router, link, metric, path.join('')].join(' ')

t.test('servers are listed up to the requested depth, as a list and as a graph', (t) => {
  const view = open()
  t.strictSame(view.self(), { id: 'a', address: 'mx://a:1', network: 'net' })
  const ids = (depth: number) => view.listServers(depth).map(({ id }) => id)
  t.strictSame(
    [ids(0), ids(1), ids(2)],
    [
      ['a', 'b', 'c', 'd'],
      ['a', 'b', 'c'],
      ['a', 'b', 'c', 'd'],
    ],
  )
  const b = { id: 'b', address: 'mx://b:1', network: 'net' }
  const c = { id: 'c', address: 'mx://c:1', network: 'net' }
  t.strictSame(view.toGraph(1), {
    node: view.self(),
    peers: [
      { node: b, peers: [] },
      { node: c, peers: [] },
    ],
  })
  t.match(view.toGraph(0).peers[0], { node: b, peers: [{ node: { id: 'd' }, peers: [] }] })
  t.end()
})

t.test('routes are sorted by cost, with local ones first', (t) => {
  const { routes } = open().listRoutes(ANY, PAGE)
  t.strictSame(routes.map(toText), [
    'own mx://a:1  a local 0 ',
    'own mx://d:1 mx://b:1 b network 2 bd',
    's mx://c:1 mx://c:1 c network 1 c',
    's mx://d:1 mx://b:1 b network 2 bd',
    't mx://d:1 mx://b:1 b network 2 bd',
  ])
  t.ok(routes.every(({ network }) => network === 'net'))
  t.end()
})

t.test('routes are filtered by service, address, gateway, router and network', (t) => {
  const view = open()
  const find = (query: Partial<RouteQuery>) =>
    view
      .listRoutes({ ...ANY, ...query }, PAGE)
      .routes.map(({ service, router }) => service + router)
  t.strictSame(find({ service: 's' }), ['sc', 'sb'])
  t.strictSame(find({ service: 's', router: 'b' }), ['sb'])
  t.strictSame(find({ address: 'mx://d:1' }), ['ownb', 'sb', 'tb'])
  t.strictSame(find({ gateway: 'mx://c:1' }), ['sc'])
  t.strictSame(find({ network: 'other' }), [])
  t.strictSame(find({ service: 'none' }), [])
  t.strictSame(find({ service: '@b' }), [], 'servers are not listed as services')
  t.end()
})

t.test('lists are paginated by service', (t) => {
  const view = open()
  t.strictSame(view.listServices(PAGE), { services: ['own', 's', 't'] })
  t.strictSame(view.listServices({ limit: 2, after: '' }), { services: ['own', 's'], next: 's' })
  t.strictSame(view.listServices({ limit: 2, after: 's' }), { services: ['t'] })
  t.strictSame(view.listServices({ limit: 3, after: '' }), { services: ['own', 's', 't'] })
  const { routes, next } = view.listRoutes(ANY, { limit: 1, after: 'own' })
  t.strictSame([routes.map(({ router }) => router), next], [['c', 'b'], 's'])
  t.end()
})
