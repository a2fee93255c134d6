import fc from 'fast-check'
import t from 'tap'
import { parseTemplate } from '../../../core/path/template.ts'
import type { EndpointRoute } from '../../../resolvers/endpoint/declared.ts'
import { parseRequestPath } from '../../../resolvers/endpoint/request-path.ts'
import { createEndpointTree } from '../../../resolvers/endpoint/route-bucket.ts'
import type { RouteTree } from '../../../resolvers/endpoint/route-tree.ts'
import { findNaively } from '../../fixtures/naive-matcher.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'

interface RouteOptions {
  readonly methods?: readonly string[]
  readonly hosts?: readonly string[]
  readonly service?: string
  readonly endpoint?: string
}

/** A route, by default named after its path. */
function route(path: string, options: RouteOptions = {}): EndpointRoute {
  const { methods = [], hosts = ['*'], service = 'ns.a', endpoint = path } = options
  return { service, endpoint, handler: undefined, methods, hosts, template: parseTemplate(path) }
}

function compile(routes: readonly (string | EndpointRoute)[]): RouteTree<EndpointRoute> {
  const matcher = createEndpointTree()
  for (const added of routes) matcher.add(typeof added === 'string' ? route(added) : added)
  return matcher
}

/** The matched endpoint, the allowed methods, or undefined. */
function find(
  matcher: RouteTree<EndpointRoute>,
  path: string,
  { method = 'GET', host = 'localhost', namespace = 'ns' } = {},
): string | undefined {
  const result = matcher.find({ method, host, path, namespace }, parseRequestPath(path)!)
  return typeof result === 'object' ? result.endpoint : result
}

t.test('prefers a literal to a variable, and a variable to **', async (t) => {
  const matcher = compile(['/**', '/users/**', '/users/{id}', '/users/me', '/*/me/x'])
  const rows: [string, string][] = [
    ['/users/me', '/users/me'],
    ['/users/you', '/users/{id}'],
    ['/users/you/books', '/users/**'],
    ['/users/me/x', '/users/**'],
    ['/users', '/users/**'],
    ['/people/me/x', '/*/me/x'],
    ['/people', '/**'],
    ['/', '/**'],
  ]
  for (const [path, endpoint] of rows) t.equal(find(matcher, path), endpoint, path)
})

t.test(
  'backtracks from a more specific prefix that does not match the complete path',
  async (t) => {
    const matcher = compile(['/a/b/c', '/a/*/d', '/*/b/e', '/*/*/*'])
    const rows: [string, string][] = [
      ['/a/b/c', '/a/b/c'],
      ['/a/b/d', '/a/*/d'],
      ['/a/b/e', '/*/b/e'],
      ['/a/b/f', '/*/*/*'],
    ]
    for (const [path, endpoint] of rows) t.equal(find(matcher, path), endpoint, path)
    t.equal(find(matcher, '/a/b'), undefined)
  },
)

t.test('matches any number of segments with **, including none, before a tail', async (t) => {
  const matcher = compile(['/a/**/x', '/a/**/*/x', '/a/**/y/x', '/a/**', '/a'])
  const rows: [string, string | undefined][] = [
    ['/a', '/a'],
    ['/a/1', '/a/**'],
    ['/a/x', '/a/**/x'],
    ['/a/1/x', '/a/**/*/x'],
    ['/a/1/2/x', '/a/**/*/x'],
    ['/a/1/2/y/x', '/a/**/y/x'],
    ['/a/y/x', '/a/**/y/x'],
    ['/b', undefined],
  ]
  for (const [path, endpoint] of rows) t.equal(find(matcher, path), endpoint, path)
})

t.test('matches a verb if a template has it, otherwise as part of the last segment', async (t) => {
  const matcher = compile(['/users/{id}:cancel', '/users/{id}', '/users/all:cancel', '/**:go'])
  const rows: [string, string | undefined][] = [
    ['/users/1:cancel', '/users/{id}:cancel'],
    ['/users/all:cancel', '/users/all:cancel'],
    ['/users/1:2:cancel', '/users/{id}:cancel'],
    ['/users/1:other', '/users/{id}'],
    ['/users/:cancel', '/users/{id}'],
    ['/users/1%3Acancel', '/users/{id}'],
    ['/users/1', '/users/{id}'],
    ['/x/y/z:go', '/**:go'],
    ['/:go', undefined],
    ['/users/1:cancel/x', undefined],
  ]
  for (const [path, endpoint] of rows) t.equal(find(matcher, path), endpoint, path)
})

t.test('matches literals in any percent-encoding', async (t) => {
  const matcher = compile(['/caf%C3%A9/{x}'])
  for (const path of ['/caf%C3%A9/1', '/caf%c3%a9/1', '/c%61f%C3%A9/1'])
    t.equal(find(matcher, path), '/caf%C3%A9/{x}', path)
  t.equal(find(matcher, '/CAF%C3%A9/1'), undefined, 'in the same letter case only')
})

t.test('matches any method without a list, after routes with the exact method', async (t) => {
  const matcher = compile([
    route('/a', { endpoint: 'any' }),
    route('/a', { endpoint: 'post', methods: ['POST'] }),
  ])
  t.equal(find(matcher, '/a', { method: 'POST' }), 'post')
  for (const method of ['GET', 'DELETE', 'PROPFIND'])
    t.equal(find(matcher, '/a', { method }), 'any')
})

t.test('returns the allowed methods if only the method differs', async (t) => {
  const matcher = compile([
    route('/a/b', { methods: ['PUT', 'GET'] }),
    route('/a/*', { methods: ['DELETE'] }),
    route('/a/**', { methods: ['PATCH'], hosts: ['other.example'] }),
    route('/a/c', { methods: ['TRACE'], service: 'elsewhere.a' }),
  ])
  t.equal(find(matcher, '/a/b', { method: 'POST' }), 'DELETE, GET, HEAD, PUT')
  t.equal(find(matcher, '/a/b', { method: 'DELETE' }), '/a/*', 'another route matches')
  t.equal(
    find(matcher, '/a/c', { method: 'POST' }),
    'DELETE',
    'methods of the same host and namespace',
  )
  t.equal(find(matcher, '/b', { method: 'POST' }), undefined)
  t.equal(find(matcher, '/a/c', { method: 'DELETE' }), '/a/*', 'not cached')
})

t.test('matches HEAD by GET routes', async (t) => {
  const matcher = compile([
    route('/a', { endpoint: 'get', methods: ['GET'] }),
    route('/b', { endpoint: 'head', methods: ['HEAD'] }),
    route('/b', { endpoint: 'get', methods: ['GET'] }),
  ])
  t.equal(find(matcher, '/a', { method: 'HEAD' }), 'get')
  t.equal(find(matcher, '/b', { method: 'HEAD' }), 'head')
})

t.test('prefers an exact host to the longest *.host, and *.host to any host', async (t) => {
  const matcher = compile([
    route('/a', { endpoint: 'any' }),
    route('/a', { endpoint: 'com', hosts: ['*.com'] }),
    route('/a', { endpoint: 'example', hosts: ['*.example.com', 'x.org'] }),
    route('/a', { endpoint: 'shop', hosts: ['shop.example.com'] }),
  ])
  const rows: [string, string][] = [
    ['shop.example.com', 'shop'],
    ['SHOP.Example.com:8080', 'shop'],
    ['shop.example.com.', 'shop'],
    ['a.example.com', 'example'],
    ['a.b.example.com', 'example'],
    ['example.com', 'com'],
    ['x.org:80', 'example'],
    ['com', 'any'],
    ['notexample.org', 'any'],
    ['127.0.0.1', 'any'],
    ['', 'any'],
    [`${'a.'.repeat(500)}com`, 'any'],
  ]
  for (const [host, endpoint] of rows) t.equal(find(matcher, '/a', { host }), endpoint, host)
})

t.test('compares path before host and host before method', async (t) => {
  const matcher = compile([
    route('/a', { endpoint: 'path' }),
    route('/*', { endpoint: 'host', hosts: ['x.org'] }),
    route('/b', { endpoint: 'any method', hosts: ['x.org'] }),
    route('/b', { endpoint: 'any host', methods: ['GET'] }),
  ])
  t.equal(find(matcher, '/a', { host: 'x.org' }), 'path')
  t.equal(find(matcher, '/b', { host: 'x.org' }), 'any method')
})

t.test('matches only services inside the namespace', async (t) => {
  const matcher = compile([
    route('/a', { endpoint: '1', service: 'one.users' }),
    route('/a', { endpoint: '2', service: 'two.users' }),
    route('/a', { endpoint: '3', service: 'two.v1.users' }),
    route('/a', { endpoint: '4', service: 'users' }),
    route('/b', { endpoint: '5', service: 'one.users' }),
    route('/*', { endpoint: '6', service: 'two.users' }),
  ])
  const rows: [string, string, string | undefined][] = [
    ['/a', 'one', '1'],
    ['/a', 'two', '2'],
    ['/a', 'two.v1', '3'],
    ['/a', '', '1'],
    ['/a', 'tw', undefined],
    ['/a', 'users', undefined],
    ['/b', 'one', '5'],
    ['/b', 'two', '6'],
    ['/b', 'one.users', undefined],
  ]
  for (const [path, namespace, endpoint] of rows)
    t.equal(find(matcher, path, { namespace }), endpoint, `${path} in ${namespace}`)
})

t.test('returns the first added of equal routes', async (t) => {
  const matcher = compile([
    route('/{a}', { endpoint: 'first' }),
    route('/{b}', { endpoint: 'second' }),
    route('/*', { endpoint: 'third', service: 'ns.b' }),
  ])
  t.equal(find(matcher, '/x'), 'first')
})

t.test('treats names of Object.prototype as ordinary segments', async (t) => {
  const matcher = compile(['/constructor', '/__proto__/{x}'])
  t.equal(find(matcher, '/constructor'), '/constructor')
  t.equal(find(matcher, '/__proto__/1'), '/__proto__/{x}')
  t.equal(find(matcher, '/toString'), undefined)
})

const segment = fc.constantFrom('a', 'b', 'c', '*', '**')
const path = fc
  .array(segment, { maxLength: 4 })
  .filter((segments) => segments.filter((added) => added === '**').length < 2)
  .chain((segments) =>
    fc
      .constantFrom('', ':x', ':y')
      .map((verb) => `/${segments.join('/')}${segments.length > 0 ? verb : ''}`),
  )
const anyRoute = fc
  .record({
    path,
    methods: fc.subarray(['GET', 'POST', 'HEAD']),
    hosts: fc.subarray(['*', 'h.com', '*.com', '*.h.com', 'x.h.com'], { minLength: 1 }),
    service: fc.constantFrom('ns.a', 'ns.b', 'other.a', 'ns.v1.a', 'a'),
    endpoint: fc.constantFrom('A.B', 'C.D'),
  })
  .map(({ path, ...options }) => route(path, options))
const request = fc.record({
  method: fc.constantFrom('GET', 'POST', 'HEAD', 'PUT'),
  host: fc.constantFrom('h.com', 'x.h.com', 'y.h.com:80', 'Z.COM', 'localhost'),
  segments: fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'a:x', 'b:y', ':x', 'd:z'), {
    maxLength: 6,
  }),
  namespace: fc.constantFrom('ns', '', 'other', 'ns.v1', 'n'),
})

t.test('agrees with a naive matcher for random routes', async (t) => {
  let result = 0
  let wrongMethod = 0
  fc.assert(
    fc.property(
      fc.array(anyRoute, { maxLength: 30 }),
      fc.array(request, { minLength: 20, maxLength: 20 }),
      (routes, requests) => {
        const matcher = compile(routes)
        for (const { method, host, segments, namespace } of requests) {
          const expected = findNaively(routes, { method, host, segments, namespace })
          const path = `/${segments.join('/')}`
          const actual = matcher.find({ method, host, path, namespace }, parseRequestPath(path)!)
          if (typeof expected === 'string') wrongMethod++
          else if (expected !== undefined) result++
          if (actual !== expected) return false
        }
        return true
      },
    ),
    { numRuns: scaleRuns(1000) },
  )
  t.ok(result > scaleRuns(500), `${result} routes found`)
  t.ok(wrongMethod > scaleRuns(100), `${wrongMethod} methods wrong`)
})

t.test('visits few nodes, independent of the number of routes', async (t) => {
  const visits = [10, 1000, 10_000].map((count) => {
    const matcher = compile(
      Array.from(
        { length: count },
        (_, i) => `/v1/s${i}/things/{id}/${i % 2 === 0 ? 'parts' : '**'}`,
      ),
    )
    t.equal(matcher.size, count)
    let maximum = 0
    for (let i = 0; i < 10; i++) {
      t.ok(find(matcher, `/v1/s${i}/things/42/parts`))
      maximum = Math.max(maximum, matcher.visited)
    }
    return maximum
  })
  t.same(visits, [6, 6, 6])
})

t.test('limits the visited nodes for any routes and paths', async (t) => {
  // Every combination of literals and variables, which a search could try one by one.
  const matcher = createEndpointTree()
  let rejectedCount = 0
  for (let bits = 0; bits < 2 ** 12; bits++) {
    const segments = Array.from({ length: 12 }, (_, i) => ((bits >> i) & 1 ? 'a' : '*'))
    if (!matcher.add(route(`/${segments.join('/')}/end`))) rejectedCount++
  }
  // `**` with tails of all lengths at many levels.
  for (let before = 0; before < 12; before++) {
    for (let index = 0; index < 16; index++) {
      const path = `/${'*/'.repeat(before)}**${'/*'.repeat(index)}/end`
      if (!matcher.add(route(path))) rejectedCount++
    }
  }
  t.ok(rejectedCount > 0, `${rejectedCount} rejected`)
  t.ok(matcher.size > 100, `${matcher.size} accepted`)
  let maximum = 0
  for (let length = 0; length <= 4000; length = length * 2 + 1) {
    find(matcher, `/${'a/'.repeat(length)}x`)
    maximum = Math.max(maximum, matcher.visited)
  }
  t.ok(maximum > 200, 'the routes are hard to match')
  t.ok(maximum <= 1000, `${maximum} visited nodes`)
})

t.test('leaves other routes unchanged after rejecting one', async (t) => {
  const matcher = createEndpointTree()
  const accepted: EndpointRoute[] = []
  for (let bits = 0; bits < 2 ** 11; bits++) {
    const segments = Array.from({ length: 11 }, (_, i) => ((bits >> i) & 1 ? 'a' : '*'))
    const added = route(`/${segments.join('/')}`)
    if (matcher.add(added)) accepted.push(added)
  }
  t.ok(accepted.length < 2 ** 11)
  t.equal(matcher.size, accepted.length)
  for (let bits = 0; bits < 2 ** 11; bits += 7) {
    const segments = Array.from({ length: 11 }, (_, i) => ((bits >> i) & 1 ? 'a' : 'b'))
    const request = { method: 'GET', host: 'localhost', segments, namespace: 'ns' }
    const path = `/${segments.join('/')}`
    const result = matcher.find({ ...request, path }, parseRequestPath(path)!)
    if (result !== findNaively(accepted, request)) t.fail(segments.join('/'))
  }
})

t.test('depends on methods and hosts only if a route names them', async (t) => {
  const matcher = compile(['/a'])
  t.match(matcher, { byMethod: false, byHost: false })
  matcher.add(route('/b', { methods: ['GET'] }))
  t.match(matcher, { byMethod: true, byHost: false })
  matcher.add(route('/c', { hosts: ['x.org'] }))
  t.match(matcher, { byMethod: true, byHost: true })
})
