import t, { type Test } from 'tap'
import { createStaticRegistry, type StaticRegistry } from '../../adapters/registry/static.ts'
import type { Step } from '../../core/chain.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { ServiceCache } from '../../core/registry/service-cache.ts'
import type { Resolver } from '../../core/route.ts'
import { createRouter, type RouterOptions } from '../../core/router.ts'
import proxy from '../../resolvers/proxy.ts'
import { TestExchange } from '../../sdk/testing.ts'
import { createPools, makeService } from '../fixtures/services.ts'

const NAMESPACE = 'go.mx.api'

function open<R extends Registry = StaticRegistry>(
  t: Test,
  options: Partial<RouterOptions> = {},
  registry: Registry = createStaticRegistry([
    makeService('go.mx.api.greeter', ['127.0.0.1:9001']),
    makeService('greeter', ['127.0.0.1:9002']),
  ]),
): { route: Step; registry: R; resolved: () => number } {
  const { createPool } = createPools()
  const directory = new ServiceCache(registry, { upstream: () => ({ createPool }) })
  t.teardown(() => directory.close())
  let count = 0
  const resolver: Resolver = {
    ...proxy,
    resolve(request) {
      count++
      return proxy.resolve(request)
    },
  }
  const route = createRouter({ resolver, directory, ...options })
  return { route, registry: registry as R, resolved: () => count }
}

function request(path: string, namespace = NAMESPACE, method = 'GET'): TestExchange {
  const x = new TestExchange({ method, path })
  x.namespace = namespace
  return x
}

t.test('the router sets the route and the upstream of an exchange', async (t) => {
  const { route } = open(t)
  const x = request('/greeter/hello')
  t.equal(route(x), undefined, 'synchronously')
  t.same(x.route, { service: 'go.mx.api.greeter', endpoint: '' })
  t.equal(x.upstream?.name, 'go.mx.api.greeter')
})

t.test('a second request with the same key uses the cached route', async (t) => {
  const { route, resolved } = open(t)
  const first = request('/greeter/hello')
  const second = request('/greeter/other/path?and=query')
  await route(first)
  await route(second)
  t.equal(second.route, first.route)
  t.equal(second.upstream, first.upstream)
  t.equal(resolved(), 1)
})

t.test('the same path in two namespaces resolves to two services', async (t) => {
  for (const defaultNamespace of ['', NAMESPACE, 'another']) {
    const { route } = open(t, { namespace: defaultNamespace })
    const names: unknown[] = []
    for (const namespace of [NAMESPACE, '', NAMESPACE, '']) {
      const x = request('/greeter', namespace)
      await route(x)
      names.push(x.upstream?.name)
    }
    t.same(
      names,
      ['go.mx.api.greeter', 'greeter', 'go.mx.api.greeter', 'greeter'],
      defaultNamespace,
    )
  }
})

t.test('returns 404 with the name of a service that is not registered', async (t) => {
  const { route, resolved } = open(t)
  const expected = {
    code: 404,
    id: 'go.mx.api.missing',
    message: 'service not found: go.mx.api.missing',
  }
  t.throws(() => route(request('/missing/x')), expected)
  t.throws(() => route(request('/missing/y')), expected)
  t.equal(resolved(), 1, 'the failure is cached')
})

t.test('returns 404 with the expected form for a path that names no service', async (t) => {
  const { route } = open(t)
  t.throws(() => route(request('/__proto__/x')), {
    code: 404,
    id: 'go.mx.api',
    message:
      'no service found for path "/__proto__/x" at host "localhost"; expected /<service>[/...]',
  })
  t.throws(() => route(request(`//${'a'.repeat(5000)}`)), { code: 404, message: /^.{200,400}$/ })
})

t.test('a new service is found immediately, although its 404 was cached', async (t) => {
  const { route, registry } = open(t)
  t.throws(() => route(request('/users')), { code: 404 })
  registry.replace([makeService('go.mx.api.users', ['127.0.0.1:9003'])])
  const x = request('/users')
  await route(x)
  t.equal(x.upstream?.name, 'go.mx.api.users')
})

t.test('routes and failures of an earlier resolver generation are not used', async (t) => {
  let generation = 0
  let service = 'greeter'
  const resolver: Resolver = {
    name: 'changing',
    expected: 'anything',
    key: () => '',
    resolve: () => ({ service, endpoint: '' }),
    get generation() {
      return generation
    },
  }
  const { route } = open(t, { resolver })
  const before = request('/')
  await route(before)
  t.equal(before.upstream?.name, 'greeter')
  service = 'go.mx.api.greeter'
  generation++
  const after = request('/')
  await route(after)
  t.equal(after.upstream?.name, 'go.mx.api.greeter')
  service = 'missing'
  generation++
  t.throws(() => route(request('/')), { code: 404 })
  service = 'greeter'
  generation++
  const repeated = request('/')
  await route(repeated)
  t.equal(repeated.upstream?.name, 'greeter', 'the cached failure is not used')
})

t.test('a removed service returns 404 immediately', async (t) => {
  const { route, registry } = open(t)
  await route(request('/greeter'))
  registry.replace([])
  t.throws(() => route(request('/greeter')), { code: 404 })
})

t.test('the router awaits an asynchronous registry and then uses the cached route', async (t) => {
  const services = [makeService('go.mx.api.greeter', ['127.0.0.1:9001'])]
  const { route } = open(
    t,
    {},
    {
      name: 'remote',
      getService: async (name) => services.filter((service) => service.name === name),
      listServices: () => services,
    },
  )
  const x = request('/greeter')
  const pending = route(x)
  t.type(pending, Promise)
  await pending
  t.equal(x.upstream?.name, 'go.mx.api.greeter')
  t.equal(route(request('/greeter')), undefined, 'cached')
  await t.rejects(Promise.resolve(route(request('/missing'))), { code: 404 })
})

t.test('the root path returns a JSON object with the platform version', async (t) => {
  const { route } = open(t, { version: '1.2.3' })
  for (const method of ['GET', 'HEAD']) {
    const x = request('/', NAMESPACE, method)
    await route(x)
    t.equal(x.status, 200)
    t.equal(x.replyHeaders.get('content-type'), 'application/json')
    t.same(JSON.parse(x.body), { version: '1.2.3' })
  }
  t.throws(() => route(request('/', NAMESPACE, 'POST')), { code: 404 })
})

t.test(
  'a service that the resolver finds for the root path takes precedence over the version',
  async (t) => {
    const resolver: Resolver = {
      name: 'host',
      expected: 'anything',
      key: ({ host }) => host,
      resolve: () => ({ service: 'greeter', endpoint: '' }),
    }
    const { route } = open(t, { version: '1.2.3', resolver })
    const x = request('/')
    await route(x)
    t.notOk(x.answered)
    t.equal(x.upstream?.name, 'greeter')
  },
)

t.test('OPTIONS * returns 204 with the allowed methods', async (t) => {
  const { route } = open(t)
  const x = request('*', NAMESPACE, 'OPTIONS')
  void route(x)
  t.equal(x.status, 204)
  t.match(x.replyHeaders.get('allow'), /GET, .*OPTIONS/)
})

t.test('the root path returns 404 without a version', async (t) => {
  t.throws(() => open(t).route(request('/')), { code: 404 })
})

t.test('a route to a topic is not looked up in the registry', async (t) => {
  const requests: string[] = []
  const registry: Registry = {
    name: 'recorded',
    getService: (name) => {
      requests.push(name)
      return []
    },
    listServices: () => [],
  }
  let resolved = 0
  const resolver: Resolver = {
    ...proxy,
    names: 'topics',
    resolve: () => {
      resolved++
      return { service: 'go.mx.api.orders', endpoint: 'created' }
    },
  }
  const { route } = open(t, { resolver }, registry)
  for (const time of ['first', 'second']) {
    const x = request('/orders')
    t.equal(route(x), undefined, time)
    t.same(x.route, { service: 'go.mx.api.orders', endpoint: 'created' })
    t.equal(x.upstream, undefined)
    t.notOk(x.answered)
  }
  t.same(requests, [])
  t.equal(resolved, 1, 'the second route is cached')
})
