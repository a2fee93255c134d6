import t from 'tap'
import type { Endpoint } from '../../../core/contracts/registry.ts'
import { OTHER_ROUTES } from '../../../core/metrics/route-counters.ts'
import { RouteLabels } from '../../../core/metrics/route-table.ts'
import { parseTemplate } from '../../../core/path/template.ts'
import { type Route, toRoute } from '../../../core/route.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import { createTestExchange } from '../../../sdk/testing.ts'

function openService(name: string, endpoints: readonly string[] = [], domain = 'mx'): Upstream {
  const upstream = new Upstream(name, {
    domain,
    createPool: () => {
      throw new Error('nothing is sent')
    },
  })
  const declared = endpoints.map((endpoint): Endpoint => {
    return { name: endpoint, request: undefined, response: undefined, metadata: {} } as never
  })
  upstream.update([{ name, version: '1', metadata: {}, endpoints: declared, nodes: [] }])
  return upstream
}

function sendRequest(route: Route | undefined, upstream: Upstream | undefined, status = 200) {
  const x = createTestExchange()
  x.route = route
  x.upstream = upstream
  x.reply(status, '')
  return x
}

const names = (table: RouteLabels): string[] =>
  table
    .values()
    .slice(2)
    .map(({ service, endpoint, path }) => `${service} ${endpoint} ${path}`.trim())

t.test('routes are counted by service, endpoint and declared path', async (t) => {
  const table = new RouteLabels()
  const users = openService('users', ['Users.Get', 'Users.List'])
  const template = parseTemplate('/users/{id}')
  const get = (id: string) => toRoute('users', 'Users.Get', 'rpc', [['id', id]], template)
  const first = table.of(sendRequest(get('1'), users))
  t.equal(table.of(sendRequest(get('2'), users)), first, 'for every value of the path variable')
  table.of(sendRequest(toRoute('users', 'Users.Get'), users))
  table.of(sendRequest(toRoute('users', 'Users.List'), users))
  table.of(sendRequest(toRoute('pages', ''), openService('pages')))
  t.same(names(table), [
    'users Users.Get /users/{id}',
    'users Users.Get',
    'users Users.List',
    'pages',
  ])
})

t.test('services of the same name in several domains are counted separately', async (t) => {
  const table = new RouteLabels()
  table.of(sendRequest(toRoute('pages', ''), openService('pages')))
  table.of(sendRequest(toRoute('pages', ''), openService('pages', [], 'acme')))
  t.same(names(table), ['pages', 'acme/pages'])
})

t.test('a route caches its counters', async (t) => {
  const table = new RouteLabels()
  const route = toRoute('pages', '')
  const counters = table.of(sendRequest(route, openService('pages')))
  t.equal(route.counters, counters)
  t.equal(table.of(sendRequest(route, undefined)), counters)
})

t.test(
  '100,000 random paths create at most one entry per declared route and service',
  async (t) => {
    const table = new RouteLabels()
    const declared = openService('users', ['Users.Get'])
    const open = openService('open')
    const pages = openService('pages')
    const template = parseTemplate('/users/{id}')
    const x = sendRequest(undefined, undefined, 404)
    const count = (route: Route | undefined, upstream: Upstream | undefined): void => {
      x.route = route
      x.upstream = upstream
      table.of(x)
    }
    for (let i = 0; i < 100_000; i++) {
      const name = `X.Y${i}`
      count(undefined, undefined)
      count(toRoute('users', name), declared)
      count(toRoute('users', 'Users.Get', 'rpc', [['id', name]], template), declared)
      count(toRoute('open', name), open)
      count(toRoute('pages', ''), pages)
      count(toRoute(`topic${i}`, name), undefined)
    }
    t.same(names(table), [
      `users ${OTHER_ROUTES}`,
      'users Users.Get /users/{id}',
      `open ${OTHER_ROUTES}`,
      'pages',
    ])
  },
)

t.test(
  'an undeclared endpoint gets its own entry after a success, up to maxUndeclared',
  async (t) => {
    const table = new RouteLabels({ maxUndeclared: 2 })
    const open = openService('open')
    const count = (endpoint: string, status: number) =>
      table.of(sendRequest(toRoute('open', endpoint), open, status)).endpoint
    t.equal(count('A.B', 404), OTHER_ROUTES)
    t.equal(count('A.B', 200), 'A.B')
    t.equal(count('A.B', 500), 'A.B', 'later failures use the same entry')
    t.equal(count('A.C', 200), 'A.C')
    t.equal(count('A.D', 200), OTHER_ROUTES)
  },
)

t.test('the number of routes is limited by max', async (t) => {
  const table = new RouteLabels({ max: 3 })
  for (let i = 0; i < 10; i++) table.of(sendRequest(toRoute(`s${i}`, ''), openService(`s${i}`)))
  t.same(names(table), ['s0', 's1', 's2'])
  t.equal(table.of(sendRequest(toRoute('s9', ''), openService('s9'))).service, OTHER_ROUTES)
})
