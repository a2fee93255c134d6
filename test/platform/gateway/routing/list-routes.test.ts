import t from 'tap'
import type { Service } from '../../../../core/contracts/registry.ts'
import { listRoutes } from '../../../../platform/gateway/routing/list-routes.ts'
import { mergeSettings } from '../../../../platform/settings/sources.ts'

const VALUE = { name: '', type: '', values: [] }

function makeService(
  name: string,
  endpoints: Readonly<Record<string, Record<string, string>>>,
  metadata = {},
): Service {
  return {
    ...{ name, version: 'latest', metadata, nodes: [] },
    endpoints: Object.entries(endpoints).map(([name, metadata]) => ({
      ...{ name, request: VALUE, response: VALUE, metadata },
    })),
  }
}

const list = (services: readonly Service[], settings = {}) =>
  listRoutes(services, { ...mergeSettings(), namespace: '', handler: 'meta', ...settings })

t.test('lists declared routes and routes by name', async (t) => {
  const { routes, problems } = list([
    makeService('users', {
      'Users.Find': { path: '/users/{id},/people/{id}', method: 'get', host: 'example.com' },
      'Admin.Drop': {},
    }),
    makeService('v1.shop', { 'Shop.Buy': { path: '/buy', handler: 'api' } }),
  ])
  t.same(problems, [])
  t.strictSame(
    routes.map(({ service, path, endpoint, handler, methods, hosts, declared }) =>
      [service, path, endpoint, handler, methods.join(), hosts.join(), declared].join(' '),
    ),
    [
      'users /people/{id} Users.Find rpc GET example.com true',
      'users /users/admin/drop Admin.Drop rpc   false',
      'users /users/find Users.Find rpc   false',
      'users /users/{id} Users.Find rpc GET example.com true',
      'v1.shop /buy Shop.Buy api   true',
      'v1.shop /v1/shop/buy Shop.Buy rpc   false',
    ],
  )
})

t.test('merges routes of several versions and reports routes that cannot be served', async (t) => {
  const service = makeService('a', { 'A.B': { path: '/b' }, 'A.C': { path: 'c' } })
  const { routes, problems } = list([service, { ...service, version: '2' }])
  t.strictSame(
    routes.map(({ path }) => path),
    ['/a/b', '/a/c', '/b'],
  )
  t.strictSame(problems, ['endpoint "A.C" of service a: ignored path "c": it must begin with /'])
})

t.test('lists services without endpoints by name and declared handler', async (t) => {
  const { routes } = list([makeService('site', {}, { handler: 'http' }), makeService('old', {})])
  t.match(routes, [
    { service: 'old', path: '/old[/*][/*]', handler: 'rpc', endpoint: '' },
    { service: 'site', path: '/site[/*][/*]', handler: 'proxy' },
  ])
})

t.test('lists names inside the namespace by the resolver of the handler', async (t) => {
  const services = [
    makeService('go.mx.api.greeter', { 'Greeter.Hello': { path: '/hello' } }),
    makeService('other', { 'Other.Call': {} }),
  ]
  const namespace = 'go.mx.api'
  const paths = (settings: object) =>
    list(services, { namespace, ...settings }).routes.map(({ path, handler }) => [path, handler])
  t.strictSame(paths({ handler: 'rpc' }), [['/greeter/hello', 'rpc']])
  t.strictSame(paths({ handler: 'proxy' }), [['/greeter[/...]', 'proxy']])
  t.strictSame(paths({ handler: 'web', resolver: 'host' }), [])
})
