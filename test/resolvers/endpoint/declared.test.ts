import t from 'tap'
import { parseTemplate } from '../../../core/path/template.ts'
import { readDeclared } from '../../../resolvers/endpoint/declared.ts'
import { makeServiceWithEndpoints } from '../../fixtures/endpoints.ts'

function read(metadata: Record<string, string>): ReturnType<typeof readDeclared> {
  return readDeclared(makeServiceWithEndpoints('ns.users', { 'Users.Get': metadata }))
}

t.test('reads routes from the metadata of an endpoint', async (t) => {
  const { routes, problems } = read({
    path: '/users/{id}, ^/people/[^/]+$',
    method: 'get,PUT , patch',
    host: 'API.example.com, *.example.org',
    handler: 'api',
    stream: 'true',
    description: 'finds users',
  })
  const route = {
    service: 'ns.users',
    endpoint: 'Users.Get',
    handler: 'api',
    methods: ['GET', 'PUT', 'PATCH'],
    hosts: ['api.example.com', '*.example.org'],
  }
  t.same(routes, [
    { ...route, template: parseTemplate('/users/{id}') },
    { ...route, template: parseTemplate('/people/*') },
  ])
  t.same(problems, [])
})

t.test('returns no route and no warning without a path', async (t) => {
  for (const metadata of [{}, { path: '' }, { path: ' , ' }, { method: 'NONSENSE', host: '^x$' }])
    t.same(read(metadata), { routes: [], problems: [] })
})

t.test('defaults to any method, any host and no handler', async (t) => {
  const hosts = [undefined, '', '*', 'a.example, *']
  for (const host of hosts) {
    const { routes } = read({ path: '/users', ...(host !== undefined && { host }) })
    t.match(routes, [{ methods: [], hosts: ['*'], handler: undefined }], host ?? 'none')
  }
})

t.test('accepts the handler names of the specification, and http for proxy', async (t) => {
  const rows: [string, string | undefined][] = [
    ['api', 'api'],
    ['rpc', 'rpc'],
    ['event', 'event'],
    ['proxy', 'proxy'],
    ['http', 'proxy'],
    ['web', 'web'],
    ['', undefined],
  ]
  for (const [handler, name] of rows) {
    const { routes, problems } = read({ path: '/users', handler })
    t.equal(routes[0]?.handler, name, handler)
    t.same(problems, [])
  }
})

t.test('ignores an unknown handler with a warning', async (t) => {
  for (const handler of ['meta', '__proto__', 'RPC']) {
    const { routes, problems } = read({ path: '/users', handler })
    t.equal(routes[0]?.handler, undefined)
    t.match(problems, [`unknown handler "${handler}"`])
  }
})

t.test('warns about an unknown handler of a service without endpoints', async (t) => {
  const plain = (handler: string): string[] => [
    ...readDeclared({
      name: 'shop',
      version: 'latest',
      metadata: { handler },
      endpoints: [],
      nodes: [],
    }).problems,
  ]
  t.same(plain('poxy'), [
    'service shop: unknown handler "poxy", using the default; known: api, event, http, proxy, rpc, web',
  ])
  t.equal(plain('x'.repeat(9000))[0]!.length < 600, true, 'the reason is truncated')
  for (const handler of ['proxy', 'web', '']) t.same(plain(handler), [])
})

t.test('reads the name of another endpoint to call', async (t) => {
  t.equal(read({ path: '/users', endpoint: 'People.Find' }).routes[0]?.endpoint, 'People.Find')
  t.equal(read({ path: '/users', endpoint: '' }).routes[0]?.endpoint, 'Users.Get')
})

t.test('ignores invalid declarations with a reason and retains valid ones', async (t) => {
  const rows: [Record<string, string>, number, RegExp][] = [
    [
      { path: '/users,^/(a+)+$' },
      1,
      /^endpoint "Users.Get" of service ns.users: ignored path "\^\/\(a\+\)\+\$": a regular expression may only contain/,
    ],
    [{ path: 'users,/people' }, 1, /ignored path "users": it must begin with \//],
    [{ path: '/users', method: 'GET,FETCH' }, 0, /ignored: "FETCH" is not an HTTP method/],
    [{ path: '/users', host: '^.*$' }, 0, /ignored: host must be .* got "\^\.\*\$"/],
    [{ path: '/users', host: 'example.com:80' }, 0, /without a port/],
    [{ path: '/users', host: '*' + '.*.example.com' }, 0, /ignored: host must be/],
    [{ path: '/users', endpoint: 'a b' }, 0, /invalid endpoint name "a b"/],
    [{ path: '/users', endpoint: 'a'.repeat(300) }, 0, /invalid endpoint name/],
    [{ path: '/a'.repeat(5000) }, 0, /path exceeds 8192 characters/],
    [{ path: '/a,'.repeat(65) }, 0, /path has more than 64 elements/],
    [{ path: `/${'é'.repeat(500)}` }, 0, /ignored/],
  ]
  for (const [metadata, routes, problem] of rows) {
    const declared = read(metadata)
    t.equal(declared.routes.length, routes)
    t.equal(declared.problems.length, 1)
    t.match(declared.problems[0], problem)
    t.ok(declared.problems[0]!.length < 600, 'the reason is truncated')
  }
})

t.test('sorts routes by endpoint name', async (t) => {
  const { routes } = readDeclared(
    makeServiceWithEndpoints('ns.users', {
      'Users.B': { path: '/b1,/b2' },
      'Users.A': { path: '/a' },
      'Admin.C': { path: '/c' },
    }),
  )
  t.same(
    routes.map(({ template }) => template.segments[0]),
    ['c', 'a', 'b1', 'b2'],
  )
})
