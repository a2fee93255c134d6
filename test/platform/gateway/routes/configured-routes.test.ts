import fc from 'fast-check'
import t from 'tap'
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
import { toRuns } from '../../../fixtures/property-runs.ts'

interface Description {
  readonly path: string
  readonly host?: string
  readonly methods?: readonly string[]
  readonly headers?: readonly ValueCondition[]
  readonly query?: readonly ValueCondition[]
  readonly client?: string | undefined
}

const inner: Resolver = {
  name: 'inner',
  expected: 'anything',
  key: ({ path }) => path,
  resolve: ({ path }) => (path.startsWith('/inner') ? toRoute('inner', '') : undefined),
}

function compile(descriptions: readonly Description[]): CompiledRoute[] {
  return descriptions.map(
    ({ path, host = '*', methods = [], headers = [], query = [], client }, i) => ({
      template: parseTemplate(path),
      ...{ hosts: [host], methods },
      conditions: {
        ...{ headers, query },
        clients: client === undefined ? undefined : createCidrSet([client], 'client'),
        listeners: [],
      },
      rule: { name: `${i}`, scope: undefined, rewrite: undefined, handler: undefined },
      ...{ service: `s${i}`, endpoint: '', handler: undefined },
    }),
  )
}

function table(descriptions: readonly Description[]) {
  return buildRouteTable(compile(descriptions))
}

function request(path: string, line: Partial<RequestLine> = {}): RequestLine {
  return { method: 'GET', path, host: 'a.test', namespace: 'ns', ...line }
}

function exact(name: string, value: string): ValueCondition {
  return { name, kind: 'exact', value }
}

t.test('the more specific path, host, method and conditions win, then the order', async (t) => {
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
})

t.test(
  'a request that only a method excludes is 405, unless another resolver has it',
  async (t) => {
    const routes = compile([
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

t.test('without routes, resolving and keys are left to the inner resolver', async (t) => {
  const resolver = createConfiguredRoutes(table([])).wrap(inner)
  t.equal(resolver.key(request('/inner/x', { query: 'q=1' })), '/inner/x')
  t.equal(resolver.resolve(request('/inner/x'))?.service, 'inner')
})

// --- a naive matcher: every route is tried, the best match wins ---

function findNaively(all: readonly Description[], line: RequestLine): number | undefined {
  const segments = line.path.slice(1).split('/')
  const matching = [...all.keys()].filter((i) => matchesNaively(all[i]!, segments, line))
  matching.sort((a, b) => compareNaively(all[a]!, all[b]!) || a - b)
  return matching[0]
}

function matchesNaively(
  route: Description,
  segments: readonly string[],
  line: RequestLine,
): boolean {
  const pattern = route.path.replace(/\*\*|\*|[^*]+/g, (part) =>
    part === '**' ? '.*' : part === '*' ? '[^/]+' : part,
  )
  const text = `/${segments.join('/')}`
  // A final /** also matches without a segment.
  const isPath =
    new RegExp(`^${pattern}$`).test(text) || new RegExp(`^${pattern}$`).test(`${text}/`)
  const { host = '*', methods = [], headers = [], query = [], client } = route
  const isHost =
    host === '*' ||
    host === line.host ||
    (host.startsWith('*.') && line.host.endsWith(host.slice(1)))
  const isMethod = methods.length === 0 || methods.includes(line.method)
  const parameters = new Map(
    (line.query ?? '').split('&').map((pair) => pair.split('=') as [string, string]),
  )
  return (
    isPath &&
    isHost &&
    isMethod &&
    headers.every(({ name, value }) => line.headers?.get(name) === value) &&
    query.every(({ name, value }) => parameters.get(name) === value) &&
    (client === undefined || line.clientAddress === client)
  )
}

/** Negative: `a` is more specific. */
function compareNaively(a: Description, b: Description): number {
  const rank = (path: string): string =>
    path
      .split('/')
      .slice(1)
      .map((segment) => (segment === '**' ? '2' : segment === '*' ? '1' : '0'))
      .join('')
  const [left, right] = [rank(a.path), rank(b.path)]
  const hosts = (host = '*'): number => (host === '*' ? 2 : host.startsWith('*.') ? 1 : 0)
  // The end of a template goes before `**`.
  return (
    compareText(`${left}1`, `${right}1`) ||
    hosts(a.host) - hosts(b.host) ||
    Number((a.methods ?? []).length === 0) - Number((b.methods ?? []).length === 0) ||
    (b.headers ?? []).length - (a.headers ?? []).length ||
    (b.query ?? []).length - (a.query ?? []).length ||
    Number(b.client !== undefined) - Number(a.client !== undefined)
  )
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

t.test('agrees with a naive matcher for random routes and requests', async (t) => {
  const value = fc.constantFrom('1', '2')
  const conditions = fc.uniqueArray(
    fc.record({ name: fc.constantFrom('x', 'y'), kind: fc.constant('exact' as const), value }),
    { maxLength: 2, selector: ({ name }) => name },
  )
  const anyRoute: fc.Arbitrary<Description> = fc.record({
    path: fc
      .array(fc.constantFrom('a', 'b', '*'), { minLength: 1, maxLength: 3 })
      .chain((segments) =>
        fc.boolean().map((isOpen) => `/${[...segments, ...(isOpen ? ['**'] : [])].join('/')}`),
      ),
    host: fc.constantFrom('*', 'a.test', '*.test'),
    methods: fc.constantFrom([], ['GET'], ['POST']),
    headers: conditions,
    query: conditions,
    client: fc.constantFrom(undefined, '10.0.0.1'),
  })
  const anyRequest = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT'),
    path: fc
      .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 4 })
      .map((segments) => `/${segments.join('/')}`),
    host: fc.constantFrom('a.test', 'b.test', 'other'),
    namespace: fc.constant('ns'),
    query: fc.constantFrom('', 'x=1', 'x=2&y=1'),
    headers: fc
      .constantFrom([], ['x', '1'], ['x', '2', 'y', '1'])
      .map((list) => new HeaderList(list)),
    clientAddress: fc.constantFrom('10.0.0.1', '10.0.0.2'),
  })
  let found = 0
  fc.assert(
    fc.property(
      fc.array(anyRoute, { maxLength: 12 }),
      fc.array(anyRequest, { minLength: 10, maxLength: 10 }),
      (routes, requests) => {
        const resolver = createConfiguredRoutes(table(routes)).wrap({
          ...inner,
          resolve: () => undefined,
        })
        for (const line of requests) {
          const expected = findNaively(routes, line)
          let actual: string | undefined
          try {
            actual = resolver.resolve(line)?.service
          } catch {
            // 405
          }
          if (expected !== undefined) found++
          if (actual !== (expected === undefined ? undefined : `s${expected}`)) return false
        }
        return true
      },
    ),
    { numRuns: toRuns(1000) },
  )
  t.ok(found > toRuns(100), `${found} routes found`)
})

t.test('a path that another route matches in its canonical form is 400', async (t) => {
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
})
