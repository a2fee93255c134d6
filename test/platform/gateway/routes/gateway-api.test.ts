// Semantics of HTTPRoute of the Kubernetes Gateway API (v1), expressed as routes of mx.yaml.
import t from 'tap'
import { openConfiguredGateway } from '../../../fixtures/configured-gateway.ts'
import { openEcho } from '../../../fixtures/echo-backend.ts'

interface Case {
  /** Terms of the standard. */
  readonly title: string
  /** List items of `routes`, without an action. Each responds with its number. */
  readonly matches: readonly string[]
  /** Request line, headers as `name=value`, and the number of the matching route; 0 if none. */
  readonly rows: readonly (readonly [request: string, route: number])[]
}

const CASES: readonly Case[] = [
  {
    title: 'Exact: matches the URL path exactly and with case sensitivity',
    matches: ['{ path: /foo }'],
    rows: [
      ['GET /foo', 1],
      ['GET /foo?a=1', 1],
      ['GET /Foo', 0],
      ['GET /foo/bar', 0],
      ['GET /foobar', 0],
    ],
  },
  {
    title: 'PathPrefix: matches based on a URL path prefix split by /, element by element',
    matches: ['{ path: /abc/** }'],
    rows: [
      ['GET /abc', 1],
      ['GET /abc/', 1],
      ['GET /abc/def', 1],
      ['GET /abcd', 0],
      ['GET /ABC', 0],
    ],
  },
  {
    title: 'if no matches are specified, every HTTP request matches',
    matches: [''],
    rows: [
      ['GET /', 1],
      ['POST /a/b?c', 1],
    ],
  },
  {
    title: 'header names are case-insensitive, values match exactly',
    matches: ['{ path: /a, headers: { X-Version: one } }'],
    rows: [
      ['GET /a x-version=one', 1],
      ['GET /a X-VERSION=one', 1],
      ['GET /a x-version=One', 0],
      ['GET /a x-version=one1', 0],
      ['GET /a', 0],
    ],
  },
  {
    title: 'query parameters match by exact name and value',
    matches: ['{ path: /a, query: { animal: whale } }'],
    rows: [
      ['GET /a?animal=whale', 1],
      ['GET /a?x=1&animal=whale&y=2', 1],
      ['GET /a?animal=%77hale', 1],
      ['GET /a?Animal=whale', 0],
      ['GET /a?animal=whales', 0],
    ],
  },
  {
    title: 'the method must be equal if it is specified',
    matches: ['{ path: /a, method: POST }', '{ path: /a, method: DELETE }'],
    rows: [
      ['POST /a', 1],
      ['DELETE /a', 2],
    ],
  },
  {
    title: 'all conditions of one match must be satisfied (AND)',
    matches: ['{ path: /a/**, method: GET, headers: { v: "1" }, query: { q: "1" } }'],
    rows: [
      ['GET /a/b?q=1 v=1', 1],
      ['GET /a/b?q=1', 0],
      ['GET /a/b v=1', 0],
      ['GET /b?q=1 v=1', 0],
    ],
  },
  {
    title: 'one of several paths or hosts suffices (OR)',
    matches: ['{ path: [/a, /b/**], host: [one.test, two.test] }'],
    rows: [
      ['GET /a host=one.test', 1],
      ['GET /b/c host=two.test', 1],
      ['GET /a host=three.test', 0],
      ['GET /c host=one.test', 0],
    ],
  },
  {
    title: 'a wildcard host matches one or more labels, but not the domain itself',
    matches: ['{ host: "*.example.com" }'],
    rows: [
      ['GET / host=test.example.com', 1],
      ['GET / host=foo.test.example.com', 1],
      ['GET / host=TEST.example.com:8080', 1],
      ['GET /x host=example.com', 0],
      ['GET /x host=testexample.com', 0],
    ],
  },
  {
    title: 'precedence: a precise host, then the wildcard host with the most characters',
    matches: ['{}', '{ host: "*.com" }', '{ host: "*.example.com" }', '{ host: "a.example.com" }'],
    rows: [
      ['GET / host=a.example.com', 4],
      ['GET / host=b.example.com', 3],
      ['GET / host=b.com', 2],
      ['GET / host=b.org', 1],
    ],
  },
  {
    title: 'precedence: an exact path, then the prefix with the largest number of characters',
    matches: ['{ path: /** }', '{ path: /a/** }', '{ path: /a/b/** }', '{ path: /a/b }'],
    rows: [
      ['GET /a/b', 4],
      ['GET /a/b/c', 3],
      ['GET /a/c', 2],
      ['GET /c', 1],
    ],
  },
  {
    title: 'deviation (docs/routes.md): a more specific path precedes a more specific host',
    matches: ['{ path: /**, host: a.example.com }', '{ path: /a }'],
    rows: [
      ['GET /a host=a.example.com', 2],
      ['GET /b host=a.example.com', 1],
    ],
  },
  {
    title: 'precedence: path before method before headers before query parameters',
    matches: [
      '{ path: /a/**, method: GET, headers: { v: "1" }, query: { q: "1" } }',
      '{ path: /a/b }',
      '{ path: /c, headers: { v: "1" }, query: { q: "1" } }',
      '{ path: /c, method: GET }',
      '{ path: /d, query: { q: "1", r: "1" } }',
      '{ path: /d, headers: { v: "1" } }',
    ],
    rows: [
      ['GET /a/b?q=1 v=1', 2],
      ['GET /c?q=1 v=1', 4],
      ['POST /c?q=1 v=1', 3],
      ['GET /d?q=1&r=1 v=1', 6],
      ['GET /d?q=1&r=1', 5],
    ],
  },
  {
    title: 'precedence: the largest number of header matches, then of query parameter matches',
    matches: [
      '{ path: /a, headers: { v: "1" } }',
      '{ path: /a, headers: { v: "1", w: "1" } }',
      '{ path: /a, query: { q: "1" } }',
      '{ path: /a, query: { q: "1", r: "1" } }',
    ],
    rows: [
      ['GET /a v=1 w=1', 2],
      ['GET /a v=1', 1],
      ['GET /a?q=1&r=1', 4],
      ['GET /a?q=1', 3],
    ],
  },
  {
    title: 'if ties still exist, the first matching rule in list order',
    matches: [
      '{ path: /a, headers: { v: "1" } }',
      '{ path: /a, headers: { w: "1" } }',
      '{ path: /a, headers: { v: "1" } }',
    ],
    rows: [
      ['GET /a v=1 w=1', 1],
      ['GET /a w=1', 2],
    ],
  },
]

for (const { title, matches, rows } of CASES) {
  t.test(title, async (t) => {
    const routes = matches.map(
      (match, i) =>
        `  - { ${match === '' ? '' : `match: ${match}, `}respond: { body: "${i + 1}" } }`,
    )
    const { send } = await openConfiguredGateway(t, `routes:\n${routes.join('\n')}\n`)
    for (const [line, route] of rows) {
      const [method = '', path = '', ...headers] = line.split(' ')
      const fields = Object.fromEntries(headers.map((field) => field.split('=')))
      const { status, text } = await send(method, path, { host: 'other.test', ...fields })
      t.same(status === 200 && /^\d$/.test(text) ? Number(text) : 0, route, line)
    }
  })
}

t.test('a request that no rule matches returns 404', async (t) => {
  const { send } = await openConfiguredGateway(t, 'routes: [{ match: { path: /a }, respond: {} }]')
  t.equal((await send('GET', '/b')).status, 404)
})

/** Table of `ReplacePrefixMatch`: request path, prefix, replacement, forwarded path. */
const REPLACED: readonly (readonly [string, string, string, string])[] = [
  ['/foo/bar', '/foo', '/xyz', '/xyz/bar'],
  ['/foo', '/foo', '/xyz', '/xyz'],
  ['/foo/', '/foo', '/xyz', '/xyz/'],
  ['/foo/bar', '/foo', '', '/bar'],
  ['/foo/', '/foo', '', '/'],
  ['/foo', '/foo', '', '/'],
]

for (const [path, prefix, replacement, forwarded] of REPLACED) {
  t.test(
    `ReplacePrefixMatch: ${path} with ${prefix} replaced by "${replacement}" is ${forwarded}`,
    async (t) => {
      const port = await openEcho(t, 'shop')
      const added = replacement === '' ? '' : `, add_prefix: ${replacement}`
      const { send } = await openConfiguredGateway(
        t,
        `services: { shop: "http://127.0.0.1:${port}" }
routes: [{ match: { path: "${prefix}/**" }, service: shop, strip_prefix: ${prefix}${added} }]
`,
      )
      t.match((await send('GET', `${path}?a=1`)).text, `shop GET ${forwarded}?a=1 `)
    },
  )
}

t.test('filters modify request and response headers, rewrite paths and redirect', async (t) => {
  const port = await openEcho(t, 'shop')
  const { send } = await openConfiguredGateway(
    t,
    `services: { shop: "http://127.0.0.1:${port}" }
routes:
  - match: { path: /modified }
    service: shop
    plugins:
      - headers:
          request: { set: { x-set: new }, append: { x-add: b }, remove: [x-remove] }
          reply: { set: { x-reply: new }, remove: [set-cookie] }
  - match: { path: /full/** }
    service: shop
    rewrite: { path: /one }
  - match: { path: "/hostname/{id}" }
    service: shop
    rewrite: { host: "{id}.internal.test" }
  - match: { path: /scheme }
    redirect: { scheme: https, status: 301 }
  - match: { path: /host }
    redirect: { host: example.org, status: 302 }
  - match: { path: "/prefix/**" }
    redirect: { path: "/new/{rest}", status: 302 }
`,
  )
  const sent = { host: 'a.test:8080', 'x-set': 'old', 'x-add': 'a', 'x-remove': 'c' }
  const { headers } = await send('GET', '/modified', sent)
  const received = JSON.parse(String(headers['x-received']))
  t.match(received, { 'x-set': 'new', 'x-add': 'a, b' }, 'RequestHeaderModifier')
  t.notOk('x-remove' in received)
  t.match(headers, { 'x-reply': 'new', 'set-cookie': undefined }, 'ResponseHeaderModifier')
  t.match((await send('GET', '/full/a/b?c=1')).text, 'shop GET /one?c=1', 'ReplaceFullPath')
  const renamed = await send('GET', '/hostname/eu', sent)
  t.match(
    JSON.parse(String(renamed.headers['x-received'])),
    { host: 'eu.internal.test' },
    'hostname',
  )
  t.equal((await send('GET', '/hostname/a.b', sent)).status, 400, 'not a label')
  for (const [path, status, location] of [
    ['/scheme?a=1', 301, 'https://a.test/scheme?a=1'],
    ['/host', 302, 'http://example.org/host'],
    ['/prefix/a/b', 302, 'http://a.test:8080/new/a/b'],
  ] as const)
    t.match(await send('GET', path, sent), { status, headers: { location } }, 'RequestRedirect')
})
