import t from 'tap'
import { lintConfiguration } from '../../../platform/config/lint.ts'
import { parseConfig } from '../../../platform/config/parse-file.ts'
import type { Configuration } from '../../../platform/config/types.ts'
import { mergeSettings } from '../../../platform/settings/sources.ts'

function toConfiguration(text: string): Configuration {
  const config = parseConfig(text, 'mx.yaml')
  const inputs = config.settings
  return { settings: mergeSettings(inputs), config, inputs, file: 'mx.yaml' }
}

function lint(text: string): readonly string[] {
  return lintConfiguration(toConfiguration(text))
}

t.test('warns about a route with the same match as an earlier one', async (t) => {
  const warnings = lint(`
handler: proxy
routes:
  - { name: one, match: { path: "/a/{id}", method: [GET, POST], query: { x: "1", y: "2" } }, respond: {} }
  - { name: two, match: { path: "/a/{name}", method: GET, query: { y: "2", x: "1" } }, respond: {} }
  - { name: three, match: { path: "/a/{name}", method: [GET, PUT], query: { y: "2", x: "1" } }, respond: {} }
  - { name: four, match: { path: "/a/{id}", method: GET }, respond: {} }
`)
  t.strictSame(warnings, [
    'mx.yaml:5:5: route two can never match: route one (mx.yaml:4:5) matches the same requests',
  ])
})

t.test(
  'warns about a route whose conditions include all conditions of an earlier one',
  async (t) => {
    const rows: readonly [first: string, second: string, isShadowed: boolean][] = [
      ['headers: { x: { present: true } }', 'headers: { x: "1" }', true],
      ['headers: { x: "1" }', 'headers: { x: { present: true } }', false],
      ['headers: { x: { prefix: a } }', 'headers: { x: { prefix: ab } }', true],
      ['headers: { x: { prefix: a } }', 'headers: { x: ab }', true],
      ['headers: { x: { prefix: a } }', 'headers: { x: b }', false],
      ['headers: { x: "1" }', 'headers: { x: "2" }', false],
      ['headers: { x: "1" }', 'headers: { x: "1", y: "2" }', false],
      ['query: { v: { present: true } }', 'query: { v: "2" }', true],
      ['client: [10.0.0.0/8, loopback]', 'client: [10.1.0.0/16, 127.0.0.1]', true],
      ['client: private', 'client: 192.168.1.0/24', true],
      ['client: 10.0.0.0/8', 'client: [10.0.0.0/8, 11.0.0.0/8]', false],
      ['client: "10.0.0.0/16"', 'client: 10.0.0.0/8', false],
      ['client: "10.0.0.0/8"', 'client: "::1"', false],
      ['method: GET', 'query: { v: "1" }, method: GET', false],
    ]
    for (const [first, second, isShadowed] of rows) {
      const warnings = lint(
        `handler: proxy\nroutes:\n  - { match: { path: /a, ${first} }, respond: {} }\n  - { match: { path: /a, ${second} }, respond: {} }`,
      )
      t.equal(warnings.length, isShadowed ? 1 : 0, `${second} after ${first}`)
    }
  },
)

t.test('warns about a route for a host that the `hosts` setting does not allow', async (t) => {
  const routes = (host: string): string =>
    `hosts: "*.example.com"\nhandler: proxy\nroutes: [{ match: { host: ${host} }, respond: {} }]`
  t.strictSame(lint(routes('shop.example.org')), [
    'mx.yaml:3:10: route 1 can never match: the setting hosts does not allow shop.example.org',
  ])
  t.match(lint(routes('"*.example.org"')), [/does not allow \*\.example\.org$/])
  t.match(lint(routes('[a.org, "*.b.org"]')), [/does not allow a\.org, \*\.b\.org$/])
  for (const host of [
    ...['shop.example.com', 'localhost', '[a.org, b.example.com]', '"*"'],
    ...['"*.example.com"', '"*.shop.example.com"', '"*.com"', '"*.app.localhost"'],
  ])
    t.strictSame(lint(routes(host)), [], host)
})

t.test(
  'warns about an unknown service with a suggestion, unless a registry may have it',
  async (t) => {
    const text = `
handler: proxy
services: { shop: 127.0.0.1:1 }
routes:
  - { match: { path: /a }, service: shp }
  - { match: { path: /b }, service: shop }
`
    t.strictSame(lint(text), [
      'mx.yaml:5:5: route 1 refers to the unknown service shp: did you mean shop?',
    ])
    t.strictSame(lint(`registry: consul://127.0.0.1${text}`), [])
  },
)

t.test('accepts a gateway without services that only redirects or responds', async (t) => {
  t.strictSame(lint('handler: proxy\nroutes: [{ redirect: { scheme: https } }]'), [])
})

t.test('warns about a route with access plugins that requests can bypass', async (t) => {
  const auth = 'plugins: [ip-allow: { allow: [10.0.0.0/8] }]'
  const text = (route: string, service = '', extra = ''): string => `
handler: proxy
${extra}
services: { shop: { nodes: [127.0.0.1:1], ${service} } }
routes:
  - { ${route}, service: shop, ${auth} }
`
  const admin = 'match: { host: admin.example.com }'
  const warning =
    'mx.yaml:6:5: requests can bypass ip-allow of route 1 through the service name (/shop/...); add the plugin to the service shop'
  t.strictSame(lint(text(admin)), [warning])
  t.strictSame(lint(text('match: { path: [/shop/admin/**, /admin/**] }')), [warning])
  t.strictSame(lint(text('match: { path: /shop/admin/** }')), [])
  t.strictSame(lint(text('match: { path: /shop/**, method: GET }')), [warning])
  t.strictSame(lint(text('match: { path: /shop/** }')), [])
  t.strictSame(lint(text('match: { path: [/a, /shop/**], host: "*" }')), [])
  t.strictSame(lint(text(admin, auth)), [])
  t.strictSame(lint(text(admin, '', auth.replace('[', '[namespace, '))), [])
  t.strictSame(lint(text(admin, '', 'resolver: host')), [])
})

t.test('warns about a route limited to listeners that redirect to HTTPS', async (t) => {
  const text = (route: string, extra = ''): string => `
handler: proxy
${extra}
listen:
  - { name: web, address: ":8443", tls: { cert: self-signed } }
  - { name: plain, address: ":8080", https_redirect: true }
routes: [{ ${route}, respond: {} }]
`
  t.strictSame(lint(text('listeners: plain')), [
    'mx.yaml:7:10: route 1 can never match: https_redirect of listener plain redirects its requests',
  ])
  for (const route of [
    'listeners: [web, plain]',
    'match: { path: /a }',
    'match: { path: /.well-known/acme-challenge/** }, listeners: plain',
  ])
    t.strictSame(lint(text(route)), [], route)
  t.strictSame(lint(text('listeners: plain', 'trusted_proxies: loopback')), [])
})

t.test('warns about a route without listeners if a broader one lists all of them', async (t) => {
  const text = (listeners: string, extra = ''): string => `
handler: proxy
listen: [{ name: a, address: ":1" }, { name: b, address: ":2" }${extra}]
routes:
  - { name: any, match: { path: /a, headers: { x: "1" } }, respond: {} }
  - { name: listed, match: { path: /a, headers: { x: { present: true } } }, listeners: ${listeners}, respond: {} }
`
  t.strictSame(lint(text('[a, b]')), [
    'mx.yaml:5:5: route any can never match: route listed (mx.yaml:6:5) matches the same requests',
  ])
  t.strictSame(lint(text('[a]')), [])
  const tls = ', { name: c, address: ":3", tls: { cert: self-signed } }'
  t.strictSame(lint(text('[a, b]', tls)), [])
  const redirect = ', { name: d, address: ":4", https_redirect: true }'
  t.equal(lint(text('[a, b, c]', tls + redirect)).length, 1)
})

t.test('warns about an error page that refers to an unknown service', async (t) => {
  const text = `
handler: proxy
errors: { 502: service:page, 503: ./a.html }
services:
  pages: 127.0.0.1:1
  shop: { nodes: [127.0.0.1:2], errors: { 5xx: service:pages, 404: service:docs } }
routes:
  - { match: { path: /a }, service: shop, errors: { 4xx: service:sorry } }
`
  t.strictSame(lint(text), [
    'mx.yaml:3:11: errors.502 refers to the unknown service page: did you mean pages?',
    'mx.yaml:6:63: errors.404 refers to the unknown service docs: add it under "services"',
    'mx.yaml:8:53: errors.4xx refers to the unknown service sorry: add it under "services"',
  ])
  t.strictSame(lint(`registry: consul://127.0.0.1${text}`), [])
})

t.test('checks thousands of routes for one path without comparing all pairs', async (t) => {
  const { config, ...rest } = toConfiguration(
    `handler: proxy\nroutes: [{ match: { path: /a, headers: { x: "1" } }, respond: {} }]`,
  )
  const [route] = config.routes
  let reads = 0
  const routes = Array.from({ length: 5000 }, (_, i) => ({
    ...route!,
    name: `${i}`,
    match: {
      ...route!.match,
      get headers() {
        reads++
        return [{ name: 'x', kind: 'exact' as const, value: `${i % 4999}` }]
      },
    },
  }))
  const warnings = lintConfiguration({ ...rest, config: { ...config, routes } })
  t.match(warnings, [/: route 4999 can never match: route 0 /])
  t.ok(reads < 100_000, `${reads} reads`)
})
