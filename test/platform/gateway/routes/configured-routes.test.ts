import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import type { GatewayError } from '../../../../core/errors.ts'
import { HeaderList } from '../../../../core/http/headers.ts'
import { parseTemplate } from '../../../../core/path/template.ts'
import { type RequestLine, type Resolver, toRoute } from '../../../../core/route.ts'
import { createCidrSet } from '../../../../lib/net/cidr-set.ts'
import type { ValueCondition } from '../../../../platform/gateway/routes/conditions.ts'
import {
  buildRouteTable,
  type CompiledRoute,
  createConfiguredRoutes,
} from '../../../../platform/gateway/routes/configured-routes.ts'
import { TestExchange } from '../../../../sdk/testing.ts'
import { findNaively, type NaiveResult } from '../../../fixtures/oracle/naive-routes.ts'
import {
  anyRequestLine,
  anyRouteDescription,
  type RouteDescription,
} from '../../../fixtures/oracle/route-sets.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

interface Description extends Omit<RouteDescription, 'paths' | 'hosts'> {
  readonly path: string
  readonly host?: string
}

const inner: Resolver = {
  name: 'inner',
  expected: 'anything',
  key: ({ path }) => path,
  resolve: ({ path }) => (path.startsWith('/inner') ? toRoute('inner', '') : undefined),
}

function compile(descriptions: readonly RouteDescription[]): CompiledRoute[] {
  return descriptions.flatMap(
    ({ paths, hosts = ['*'], methods = [], headers = [], query = [], client, listeners = [] }, i) =>
      paths.map((path) => ({
        template: parseTemplate(path),
        ...{ hosts, methods },
        conditions: {
          ...{ headers, query, listeners },
          clients: client === undefined ? undefined : createCidrSet([client], 'client'),
        },
        rule: { name: `${i}`, scope: undefined, rewrite: undefined, handler: undefined },
        ...{ service: `s${i}`, endpoint: '', handler: undefined },
      })),
  )
}

function compileEach(descriptions: readonly Description[]): CompiledRoute[] {
  return compile(
    descriptions.map(({ path, host = '*', ...rest }) => ({
      ...{ paths: [path], hosts: [host] },
      ...rest,
    })),
  )
}

function table(descriptions: readonly Description[]) {
  return buildRouteTable(compileEach(descriptions))
}

function request(path: string, line: Partial<RequestLine> = {}): RequestLine {
  return { method: 'GET', path, host: 'a.test', namespace: 'ns', ...line }
}

function exact(name: string, value: string): ValueCondition {
  return { name, kind: 'exact', value }
}

t.test(
  'the more specific path, host, method and conditions take precedence, then the order',
  async (t) => {
    const { wrap } = createConfiguredRoutes(
      table([
        { path: '/a/**' },
        { path: '/a/b' },
        { path: '/a/b', host: 'a.test' },
        { path: '/a/b', host: 'a.test', methods: ['POST'] },
        { path: '/a/b', host: 'a.test', query: [exact('q', '1')] },
        { path: '/a/b', host: 'a.test', headers: [exact('x', '1')] },
        { path: '/a/b', host: 'a.test', headers: [exact('x', '1'), exact('y', '2')] },
        { path: '/a/b', host: 'a.test', client: '10.0.0.0/8' },
        { path: '/a/b' },
      ]),
    )
    const resolver = wrap(inner)
    const headers = (...list: string[]) => ({ headers: new HeaderList(list) })
    const rows: [RequestLine, string][] = [
      [request('/a'), 's0'],
      [request('/a/b', { host: 'b.test' }), 's1'],
      [request('/a/b'), 's2'],
      [request('/a/b', { method: 'POST' }), 's3'],
      [request('/a/b', { query: 'q=1' }), 's4'],
      [request('/a/b', { query: 'q=1', ...headers('x', '1') }), 's5'],
      [request('/a/b', { query: 'q=1', ...headers('x', '1', 'y', '2') }), 's6'],
      [request('/a/b', { clientAddress: '10.1.2.3' }), 's7'],
      [request('/inner/x'), 'inner'],
    ]
    for (const [line, service] of rows) t.equal(resolver.resolve(line)?.service, service)
    t.equal(resolver.resolve(request('/other')), undefined)
  },
)

t.test(
  'a request that only a method excludes returns 405, unless another resolver matches it',
  async (t) => {
    const routes = compileEach([
      { path: '/a', methods: ['GET'] },
      { path: '/inner', methods: ['PUT'] },
    ])
    const resolver = createConfiguredRoutes(buildRouteTable(routes)).wrap(inner)
    t.throws(() => resolver.resolve(request('/a', { method: 'POST' })), {
      code: 405,
      headers: ['allow', 'GET, HEAD'],
    })
    t.equal(resolver.resolve(request('/a', { method: 'HEAD' }))?.service, 's0')
    t.equal(resolver.resolve(request('/inner'))?.service, 'inner')
  },
)

t.test('replaced routes apply to the next request, and change the generation', async (t) => {
  const routes = createConfiguredRoutes(table([{ path: '/a' }]))
  const resolver = routes.wrap(inner)
  const before = resolver.generation
  routes.replace(table([{ path: '/b' }]))
  t.not(resolver.generation, before)
  t.equal(resolver.resolve(request('/a')), undefined)
  t.equal(resolver.resolve(request('/b'))?.service, 's0')
})

t.test('without routes, resolving and keys come from the inner resolver', async (t) => {
  const resolver = createConfiguredRoutes(table([])).wrap(inner)
  t.equal(resolver.key(request('/inner/x', { query: 'q=1' })), '/inner/x')
  t.equal(resolver.resolve(request('/inner/x'))?.service, 'inner')
})

/** Result of a lookup, in the form of {@link findNaively}. */
function find(resolve: Resolver['resolve'], request: RequestLine): NaiveResult {
  try {
    const route = resolve(request)
    if (route === undefined) return undefined
    const variables = Object.fromEntries(route.variables ?? [])
    return { index: Number(route.service.slice(1)), variables }
  } catch (error) {
    const { code, headers = [] } = error as GatewayError
    if (code !== 405) throw error
    return { allow: headers[1]! }
  }
}

t.test('agrees with a naive matcher for random routes and requests', async (t) => {
  const noRoutes: Resolver = { ...inner, resolve: () => undefined }
  const counts = { found: 0, rejected: 0, missing: 0 }
  const routes = fc.array(anyRouteDescription, { maxLength: 12, size: 'max' })
  const requests = fc.array(anyRequestLine, { minLength: 10, maxLength: 10 })
  fc.assert(
    fc.property(routes, requests, (routes, requests) => {
      const { resolve } = createConfiguredRoutes(buildRouteTable(compile(routes))).wrap(noRoutes)
      for (const request of requests) {
        const expected = findNaively(routes, request)
        deepStrictEqual(find(resolve, request), expected)
        if (expected === undefined) counts.missing++
        else if ('allow' in expected) counts.rejected++
        else counts.found++
      }
    }),
    { numRuns: scaleRuns(10_000) },
  )
  const least = scaleRuns(10_000) / 4
  t.ok(Math.min(...Object.values(counts)) > least, JSON.stringify(counts))
})

t.test(
  'a path that another route matches in its canonical form is rejected with 400',
  async (t) => {
    const { wrap } = createConfiguredRoutes(
      table([
        { path: '/inner/**' },
        { path: '/shop/**' },
        { path: '/shop/admin/**' },
        { path: '/a;v=1' },
        { path: '/a' },
        { path: '/**', host: 'b.test' },
      ]),
    )
    const { resolve } = wrap(inner)
    for (const path of [
      '/inner//x',
      '/inner/x//y',
      '/inner//',
      '//inner/x',
      '/inner;a/x',
      '/inner%3Ba/x',
      '/inner%2Fx',
      '/shop/admin;a/x',
      '/shop//admin/x',
      '/shop/%2561dmin/x',
      '/shop/admin%252fx',
      '/shop%252fadmin/x',
      '/shop/%252fadmin',
      '/shop/admin%253bv/x',
      '/shop/x/%252e%252e/admin',
      '/shop/x%252f..%252fadmin',
      '/other/..%252fshop/x',
    ])
      t.throws(() => resolve(request(path)), { code: 400 }, path)
    t.throws(() => resolve(request('/x//y', { host: 'b.test' })), { code: 400 })
    const rows = [
      ['/shop/x;a=1/%20', 's1'],
      ['/shop/admin/x;a', 's2'],
      ['/a;v=1', 's3'],
      ['/%73hop/x', 's1'],
    ] as const
    for (const [path, service] of rows) t.equal(resolve(request(path))?.service, service, path)
    t.equal(resolve(request('/other//x')), undefined)
  },
)

t.test('a route for networks of clients is not bypassed by another spelling', async (t) => {
  const { resolve } = createConfiguredRoutes(
    table([{ path: '/inner/**', client: '10.0.0.0/8' }]),
  ).wrap(inner)
  const send = (path: string, remoteAddress: string) =>
    resolve(new TestExchange({ path, remoteAddress }))
  t.throws(() => send('/inner//x', '10.0.0.1'), { code: 400 })
  t.equal(send('/inner/%20', '10.0.0.1')?.service, 's0')
  t.equal(send('/inner//x', '192.0.2.1')?.service, 'inner')
})

t.test(
  'a condition on the client rejects requests of unknown clients behind a proxy',
  async (t) => {
    const { resolve } = createConfiguredRoutes(
      table([{ path: '/inner/**', client: '10.0.0.0/8' }]),
    ).wrap(inner)
    for (const path of ['/inner/x', '/inner/%78']) {
      const x = new TestExchange({ path, remoteAddress: '10.0.0.1' })
      t.equal(resolve(x)?.service, 's0', path)
      x.relayed = true
      t.equal(resolve(x)?.service, 'inner', `${path}, relayed`)
    }
  },
)

/** Service of the route, or status of an error. */
function resolveToText({ resolve }: Resolver, request: RequestLine): string {
  try {
    return resolve(request)?.service ?? 'none'
  } catch (error) {
    return `${(error as GatewayError).code}`
  }
}

/** Resolves with a cache, as the router does. */
function createCached(resolver: Resolver): (request: RequestLine) => string {
  const cache = new Map<string, string>()
  return (request) => {
    const key = resolver.key(request)
    const result = cache.get(key) ?? resolveToText(resolver, request)
    // Errors are not cached.
    if (result.startsWith('s')) cache.set(key, result)
    return result
  }
}

t.test('requests with equal keys have the same route', async () => {
  const rest: Resolver = { ...inner, resolve: () => toRoute('s-1', '') }
  const routes = fc.array(anyRouteDescription, { maxLength: 12, size: 'max' })
  const spelling = fc.constantFrom('', '', '', '//', ';v=1', '%2561')
  const requests = fc.array(fc.tuple(anyRequestLine, spelling), { minLength: 20, maxLength: 20 })
  fc.assert(
    fc.property(routes, requests, (routes, requests) => {
      const resolver = createConfiguredRoutes(buildRouteTable(compile(routes))).wrap(rest)
      const resolve = createCached(resolver)
      for (const [request, suffix] of requests) {
        const changed = { ...request, path: `${request.path}${suffix}` }
        deepStrictEqual(resolve(changed), resolveToText(resolver, changed))
      }
    }),
    { numRuns: scaleRuns(10_000) },
  )
})

t.test('the key holds results of conditions, for paths and hosts that have some', async (t) => {
  let lookups = 0
  const routes = compileEach([
    { path: '/a', headers: [{ name: 'cookie', kind: 'present', value: '' }] },
    { path: '/a', query: [{ name: 'q', kind: 'prefix', value: 'x' }] },
    { path: '/b' },
    ...Array.from({ length: 1000 }, (_, i) => ({ path: `/c/${i}`, client: '10.0.0.0/8' })),
  ]).map((route) => {
    const { clients } = route.conditions
    if (clients === undefined) return route
    const lookup = (address: string) => {
      lookups++
      return clients.lookup(address)
    }
    return { ...route, conditions: { ...route.conditions, clients: { lookup } } }
  })
  const { key } = createConfiguredRoutes(buildRouteTable(routes)).wrap(inner)
  const headers = new HeaderList(['cookie', 'c'.repeat(1000)])
  const query = `q=x${'y'.repeat(1000)}`
  t.equal(key(request('/b', { headers, query })), '/b')
  t.equal(key(request('/other', { headers, query })), '/other')
  const withCookie = key(request('/a', { headers }))
  t.ok(withCookie.length < 20, withCookie)
  t.equal(key(request('/a', { headers: new HeaderList(['cookie', 'other']), query })), withCookie)
  t.ok(key(request('/a', { query })).length < 20)
  t.not(key(request('/a', { query })), key(request('/a')))
  t.equal(lookups, 0)
  key(request('/c/1', { clientAddress: '10.0.0.1' }))
  t.equal(lookups, 1)
})

t.test('of many routes for one path, only routes with the exact values are compared', async (t) => {
  let reads = 0
  const routes = Array.from({ length: 10_000 }, (_, i) => ({
    path: '/a',
    headers: [exact('x-tenant', `${i}`), exact('x-env', i % 2 === 0 ? 'prod' : 'test')],
  }))
  const { resolve } = createConfiguredRoutes(
    table([...routes, { path: '/a', query: [exact('q', '1')] }, { path: '/a' }]),
  ).wrap(inner)
  const find = (query: string, ...list: string[]) => {
    const headers = new HeaderList(list)
    const get = (name: string) => {
      reads++
      return headers.get(name)
    }
    return resolve(request('/a', { headers: { get }, query }))?.service
  }
  t.equal(find('', 'x-tenant', '9000', 'x-env', 'prod'), 's9000')
  t.equal(find('q=1', 'x-tenant', '9001', 'x-env', 'test'), 's9001')
  t.equal(find('q=1', 'x-tenant', '9001', 'x-env', 'prod'), 's10000')
  t.equal(find('', 'x-tenant', '9001'), 's10001')
  t.ok(reads < 100, `${reads} reads`)
})

t.test('the time to add routes of one path grows with n log n', async (t) => {
  const count = 10_000
  const routes = compileEach(
    Array.from({ length: count }, (_, i) => ({
      path: '/a',
      headers: ['x', 'y', 'z'].slice(i % 3).map((name) => exact(name, `${i}`)),
    })),
  )
  let reads = 0
  const counted = routes.map(({ conditions, ...rest }) => ({
    ...rest,
    get conditions() {
      reads++
      return conditions
    },
  }))
  buildRouteTable(counted)
  t.ok(reads < 3 * count * Math.log2(count), `${reads} reads`)
})
