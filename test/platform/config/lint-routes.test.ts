import t from 'tap'
import { lintConfiguration } from '../../../platform/config/lint.ts'
import { parseConfig } from '../../../platform/config/parse-file.ts'
import { mergeSettings } from '../../../platform/settings/sources.ts'

function lint(text: string): readonly string[] {
  const config = parseConfig(text, 'mx.yaml')
  const inputs = config.settings
  return lintConfiguration({ settings: mergeSettings(inputs), config, inputs, file: 'mx.yaml' })
}

t.test('a route with the match of a previous one is reported', async (t) => {
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
  'a route whose conditions include the conditions of a previous one is reported',
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

t.test('a route of a host that the setting hosts does not allow is reported', async (t) => {
  const routes = (host: string): string =>
    `hosts: "*.example.com"\nhandler: proxy\nroutes: [{ match: { host: ${host} }, respond: {} }]`
  t.strictSame(lint(routes('shop.example.org')), [
    'mx.yaml:3:10: route 1 can never match: the setting hosts does not allow shop.example.org',
  ])
  for (const host of ['shop.example.com', '"*.example.org"', 'localhost', '[a.org, b.example.com]'])
    t.strictSame(lint(routes(host)), [], host)
})

t.test(
  'an unknown service is reported with a suggestion, unless a registry may have it',
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

t.test('a gateway that only redirects or responds needs no service', async (t) => {
  t.strictSame(lint('handler: proxy\nroutes: [{ redirect: { scheme: https } }]'), [])
})

t.test('a route with access plugins that requests can avoid is reported', async (t) => {
  const auth = 'plugins: [ip-allow: { allow: [10.0.0.0/8] }]'
  const text = (route: string, service = '', more = ''): string => `
handler: proxy
${more}
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
