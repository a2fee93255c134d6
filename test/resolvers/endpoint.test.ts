import t, { type Test } from 'tap'
import { createStaticRegistry, type StaticRegistry } from '../../adapters/registry/static.ts'
import type { Service } from '../../core/contracts/registry.ts'
import { ServiceCache } from '../../core/registry/service-cache.ts'
import type { RequestLine, Resolver, Route } from '../../core/route.ts'
import { createRouter } from '../../core/router.ts'
import createEndpoint from '../../resolvers/endpoint.ts'
import host from '../../resolvers/host.ts'
import rpc from '../../resolvers/rpc.ts'
import { TestExchange } from '../../sdk/testing.ts'
import { makeServiceWithEndpoints } from '../fixtures/endpoints.ts'
import { createPools } from '../fixtures/services.ts'

interface Opened {
  readonly resolver: Resolver
  readonly registry: StaticRegistry
  readonly warnings: string[]
  /** Replaces the services, and waits for their declared routes. */
  readonly replace: (services: readonly Service[]) => Promise<void>
}

function open(t: Test, services: readonly Service[], inner: Resolver = rpc): Opened {
  const registry = createStaticRegistry(services)
  const warnings: string[] = []
  const resolver = createEndpoint({
    inner,
    registry,
    domain: '',
    onWarning: (message) => warnings.push(message),
  })
  t.teardown(() => resolver.close?.())
  const replace = async (next: readonly Service[]): Promise<void> => {
    const before = resolver.generation
    registry.replace(next)
    while (resolver.generation === before) await new Promise(setImmediate)
  }
  return { resolver, registry, warnings, replace }
}

function at(path: string, line: Partial<RequestLine> = {}): RequestLine {
  return { method: 'GET', path, host: 'localhost', namespace: 'ns', ...line }
}

const users = makeServiceWithEndpoints('ns.users', {
  'Users.Get': { path: '/users/{id}', method: 'GET', handler: 'api' },
  'Users.List': { path: '/users', method: 'GET', handler: 'rpc' },
  'Users.File': { path: '/v1/{user.name=users/*}/files/{path=**}/raw/{part}', handler: 'web' },
  'Users.Stop': { path: '/users/{id}:stop', method: 'POST' },
})

t.test('resolves service, endpoint, handler and variables of a matching route', async (t) => {
  const { resolver } = open(t, [users])
  const rows: [RequestLine, Route][] = [
    [
      at('/users/42'),
      { service: 'ns.users', endpoint: 'Users.Get', handler: 'api', variables: [['id', '42']] },
    ],
    [
      at('/users/'),
      { service: 'ns.users', endpoint: 'Users.List', handler: 'rpc', variables: undefined },
    ],
    [
      at('/users/42:stop', { method: 'POST' }),
      {
        service: 'ns.users',
        endpoint: 'Users.Stop',
        handler: undefined,
        variables: [['id', '42']],
      },
    ],
  ]
  for (const [line, expected] of rows) {
    const { template, rule, counters, ...named } = resolver.resolve(line)!
    t.strictSame(named, expected, line.path)
    t.strictSame([rule, counters], [undefined, undefined])
    t.ok(template, 'the template of the route')
  }
})

t.test('resolves built-in services before declared paths', async (t) => {
  const malformed = makeServiceWithEndpoints('shop', {
    'Shop.All': { path: '/**' },
    'Shop.Login': { path: '/auth/token', method: 'POST', handler: 'http' },
    'Shop.Any': { path: '/{a}/token' },
    'Shop.List': { path: '/registry', method: 'GET' },
  })
  const { resolver } = open(t, [malformed])
  for (const [path, service] of [
    ['/auth/token', 'auth'],
    ['/auth/rules/create', 'auth'],
    ['/registry/listServices', 'registry'],
    ['/auth.Auth/Token', 'auth'],
    ['/shop/call', 'shop'],
    ['/tokens/token', 'shop'],
  ] as const)
    for (const method of ['GET', 'POST'])
      t.equal(resolver.resolve(at(path, { method, namespace: '' }))?.service, service, path)
  t.equal(
    resolver.resolve(at('/auth/token', { namespace: 'ns' }))?.service,
    'ns.auth',
    'the declared path is not in the namespace',
  )
})

t.test(
  'a declared path never receives another spelling of the path of a built-in service',
  async (t) => {
    const { resolver } = open(t, [
      makeServiceWithEndpoints('shop', { 'Shop.All': { path: '/**' } }),
    ])
    for (const path of [
      '/%61uth/token',
      '/auth;v=1/token',
      '/auth/t%6Fken',
      '/AUTH/token',
      '/%2561uth/token',
      '/auth%252ftoken',
      '/x/%252e%252e/auth/token',
    ])
      t.not(resolveOrUndefined(resolver, path)?.service, 'shop', path)
    t.equal(resolveOrUndefined(resolver, '/tok%65ns/token')?.service, 'shop')
  },
)

function resolveOrUndefined(resolver: Resolver, path: string): Route | undefined {
  try {
    return resolver.resolve(at(path, { namespace: '' }))
  } catch {
    return undefined
  }
}

t.test('captures several segments in a variable, before, in and after **', async (t) => {
  const { resolver } = open(t, [users])
  const rows: [string, [string, string][]][] = [
    [
      '/v1/users/jo/files/a/b/c/raw/1',
      [
        ['user.name', 'users/jo'],
        ['path', 'a/b/c'],
        ['part', '1'],
      ],
    ],
    [
      '/v1/users/jo/files/a/raw/1',
      [
        ['user.name', 'users/jo'],
        ['path', 'a'],
        ['part', '1'],
      ],
    ],
    [
      '/v1/users/jo/files/raw/1',
      [
        ['user.name', 'users/jo'],
        ['path', ''],
        ['part', '1'],
      ],
    ],
  ]
  for (const [path, variables] of rows)
    t.strictSame(resolver.resolve(at(path))?.variables, variables, path)
})

t.test('percent-decodes variables segment by segment', async (t) => {
  const { resolver } = open(t, [users])
  const rows: [string, string][] = [
    ['/users/a%20b', 'a b'],
    ['/users/caf%C3%A9', 'café'],
    ['/users/a+b', 'a+b'],
    ['/users/50%25', '50%'],
    ['/users/x%3Astop', 'x:stop'],
    ['/users/..a', '..a'],
  ]
  for (const [path, id] of rows) t.same(resolver.resolve(at(path))?.variables, [['id', id]], path)
})

t.test('responds with 400 to a matching path with invalid encoding', async (t) => {
  const { resolver } = open(t, [users])
  for (const id of ['%ff', '%', '%c0%af', 'a%2fb', 'a%5Cb', '%00', '%0d%0a', '%252e'])
    t.throws(() => resolver.resolve(at(`/users/${id}`)), { code: 400 }, id)
})

t.test('responds with 405 and Allow to a matching path with another method', async (t) => {
  const { resolver } = open(t, [users])
  t.throws(() => resolver.resolve(at('/users/42', { method: 'DELETE' })), {
    code: 405,
    id: 'go.mx.api',
    message: 'method DELETE is not allowed; this path accepts GET, HEAD',
    headers: ['allow', 'GET, HEAD'],
  })
})

t.test('falls back to the inner resolver', async (t) => {
  const { resolver } = open(t, [users])
  t.same(resolver.resolve(at('/greeter/hello')), {
    service: 'ns.greeter',
    endpoint: 'Greeter.Hello',
  })
  t.same(resolver.resolve(at('/users/42', { namespace: 'other' })), {
    service: 'other.users',
    endpoint: 'Users.42',
  })
  for (const path of ['/', '*', '/users/../42', '/users/%2e%2e', '/a/b%2fc'])
    t.equal(resolver.resolve(at(path)), undefined, path)
})

t.test('rejects a spelling that leads to another endpoint with 400', async (t) => {
  const { resolver } = open(t, [
    makeServiceWithEndpoints('ns.shop', {
      'Shop.All': { path: '/**' },
      'Shop.Admin': { path: '/admin/**' },
    }),
    users,
  ])
  for (const path of ['/admin;v=1/x', '//admin/x', '/users//42', '//users'])
    t.throws(() => resolver.resolve(at(path)), { code: 400, message: /another endpoint/ }, path)
  t.match(resolver.resolve(at('/admin/x;v=1')), { endpoint: 'Shop.Admin' })
  t.match(resolver.resolve(at('/other;v=1/x')), { endpoint: 'Shop.All' })
})

t.test('returns routes of one hidden class from every resolver', async (t) => {
  const { resolver } = open(t, [users])
  const routes = ['/users/42', '/users', '/greeter/hello'].map((path) => resolver.resolve(at(path)))
  for (const route of [...routes, host.resolve(at('/'))])
    t.same(Object.keys(route!), [
      ...['service', 'endpoint', 'handler', 'variables'],
      ...['template', 'rule', 'counters'],
    ])
})

t.test('includes only the relevant parts of a request in the key', async (t) => {
  const { resolver, replace } = open(t, [])
  const get = at('/users/1', { host: 'a.example' })
  const post = { ...get, method: 'POST' }
  const otherHost = { ...get, host: 'b.example' }
  t.equal(
    resolver.key(get),
    rpc.key(get),
    'the key of the inner resolver if there are no declared routes',
  )
  await replace([makeServiceWithEndpoints('ns.a', { 'A.B': { path: '/a' } })])
  t.equal(resolver.key(get), resolver.key(post))
  t.equal(resolver.key(get), resolver.key(otherHost))
  t.not(resolver.key(get), resolver.key({ ...get, path: '/users/2' }))
  await replace([users])
  t.not(resolver.key(get), resolver.key(post))
  t.equal(resolver.key(get), resolver.key(otherHost))
  await replace([makeServiceWithEndpoints('ns.a', { 'A.B': { path: '/a', host: 'a.example' } })])
  t.equal(resolver.key(get), resolver.key(post))
  t.not(resolver.key(get), resolver.key(otherHost))
  const byHost = open(t, [users], host).resolver
  t.not(byHost.key(get), byHost.key(otherHost), 'the key of the inner resolver is part of it')
})

t.test('applies added, changed and removed routes in the next tick', async (t) => {
  const { resolver, replace } = open(t, [])
  t.equal(resolver.generation, 0)
  t.equal(resolver.resolve(at('/users/42'))?.endpoint, 'Users.42')
  await replace([users])
  t.equal(resolver.resolve(at('/users/42'))?.endpoint, 'Users.Get')
  await replace([makeServiceWithEndpoints('ns.users', { 'Users.Find': { path: '/users/{name}' } })])
  t.match(resolver.resolve(at('/users/42')), {
    service: 'ns.users',
    endpoint: 'Users.Find',
    variables: [['name', '42']],
  })
  await replace([])
  t.equal(resolver.resolve(at('/users/42'))?.endpoint, 'Users.42')
})

t.test('rebuilds once for many changes in a tick', async (t) => {
  const { resolver, registry } = open(t, [])
  for (let i = 0; i < 100; i++)
    registry.replace([makeServiceWithEndpoints('ns.a', { 'A.B': { path: `/a${i}` } })])
  t.equal(resolver.resolve(at('/a99'))?.endpoint, 'A99.Call', 'not during the tick of the changes')
  await new Promise(setImmediate)
  t.equal(resolver.generation, 1)
  t.equal(resolver.resolve(at('/a99'))?.endpoint, 'A.B')
})

t.test('rebuilds many routes in several ticks and replaces them atomically', async (t) => {
  const { resolver, registry } = open(t, [users])
  const before = resolver.generation!
  const services = Array.from({ length: 2500 }, (_, i) =>
    makeServiceWithEndpoints(`ns.s${i}`, { 'A.B': { path: `/s${i}` } }),
  )
  registry.replace(services)
  let ticks = 0
  for (; resolver.generation === before; ticks++) {
    t.equal(
      resolver.resolve(at('/users/42'))?.endpoint,
      'Users.Get',
      'the old routes during the rebuild',
    )
    await new Promise(setImmediate)
  }
  t.ok(ticks >= 3, `${ticks} ticks`)
  t.equal(resolver.resolve(at('/s2499'))?.endpoint, 'A.B')
  t.equal(resolver.resolve(at('/users/42'))?.endpoint, 'Users.42')
})

t.test('applies a change that arrives during a rebuild', async (t) => {
  const { resolver, registry } = open(t, [])
  const services = Array.from({ length: 2500 }, (_, i) =>
    makeServiceWithEndpoints(`ns.s${i}`, { 'A.B': { path: `/s${i}` } }),
  )
  registry.replace(services)
  await new Promise(setImmediate)
  t.equal(resolver.generation, 0, 'the rebuild is in progress')
  registry.replace([users])
  while (resolver.generation !== 2) await new Promise(setImmediate)
  t.equal(resolver.resolve(at('/users/42'))?.endpoint, 'Users.Get')
  t.equal(resolver.resolve(at('/s1'))?.endpoint, 'S1.Call')
})

t.test('resolves the first service by name if several declare the same route', async (t) => {
  const declared = { 'B.Get': { path: '/x' }, 'A.Get': { path: '/x' } }
  const services = ['ns.c', 'ns.b', 'ns.d'].map((name) => makeServiceWithEndpoints(name, declared))
  for (const order of [services, services.toReversed()]) {
    const { resolver } = open(t, order)
    t.match(resolver.resolve(at('/x')), { service: 'ns.b', endpoint: 'A.Get' })
  }
})

t.test('ignores paths that would make matching slow, with a warning', async (t) => {
  const paths = Array.from({ length: 2 ** 11 }, (_, bits) =>
    Array.from({ length: 11 }, (_, i) => ((bits >> i) & 1 ? '/a' : '/*')).join(''),
  )
  const endpoints = paths.map((path, i) => [`A.E${10_000 + i}`, { path }] as const)
  const { resolver, warnings } = open(t, [
    makeServiceWithEndpoints('ns.a', Object.fromEntries(endpoints)),
    makeServiceWithEndpoints('ns.b', { 'B.Get': { path: '/b' } }),
  ])
  t.match(warnings, [
    /^ignored \d+ declared paths: too many paths, or too many overlapping paths; .* of service ns.a/,
  ])
  t.equal(resolver.resolve(at('/b'))?.service, 'ns.b')
})

t.test('becomes ready when an asynchronous registry has responded', async (t) => {
  const resolver = createEndpoint({
    inner: rpc,
    registry: { name: 'remote', getService: () => [], listServices: async () => [users] },
    domain: '',
    onWarning: () => {},
  })
  t.teardown(() => resolver.close?.())
  t.equal(resolver.resolve(at('/users/42'))?.endpoint, 'Users.42')
  await resolver.ready
  t.equal(resolver.resolve(at('/users/42'))?.endpoint, 'Users.Get')
})

t.test('never serves from removed routes', async (t) => {
  const greeter = makeServiceWithEndpoints('ns.greeter', { 'Greeter.Get': { path: '/hello' } })
  const { resolver, registry, replace } = open(t, [users, greeter])
  const { createPool } = createPools()
  const directory = new ServiceCache(registry, { upstream: () => ({ createPool }) })
  t.teardown(() => directory.close())
  const route = createRouter({ resolver, directory, namespace: 'ns' })
  const sendRequest = (path: string, method = 'GET'): TestExchange => {
    const x = new TestExchange({ method, path })
    x.namespace = 'ns'
    void route(x)
    return x
  }
  t.equal(sendRequest('/users/42').route?.endpoint, 'Users.Get')
  t.equal(
    sendRequest('/users/42').route,
    sendRequest('/users/42').route,
    'the second result is cached',
  )
  t.throws(() => sendRequest('/users/42', 'DELETE'), { code: 405 })
  t.equal(sendRequest('/users/42', 'HEAD').route?.endpoint, 'Users.Get')
  const moved = makeServiceWithEndpoints('ns.users', { 'Users.Get': { path: '/people/{id}' } })
  await replace([moved, greeter])
  t.equal(sendRequest('/users/42').route?.endpoint, 'Users.42', 'the fallback for the same service')
  t.same(sendRequest('/people/42').route?.variables, [['id', '42']])
  t.equal(sendRequest('/hello').upstream?.name, 'ns.greeter')
  await replace([users, greeter])
  t.throws(() => sendRequest('/people/42'), { code: 404 })
  t.equal(sendRequest('/users/42').route?.endpoint, 'Users.Get')
})

t.test('closes the inner resolver and stops timers', async (t) => {
  let closed = false
  const { resolver, registry } = open(t, [], {
    ...rpc,
    close: () => {
      closed = true
    },
  })
  registry.replace([users])
  resolver.close?.()
  await new Promise(setImmediate)
  t.equal(resolver.generation, 0)
  t.ok(closed)
})
