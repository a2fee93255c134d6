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
      'mx.yaml:5:5: route 1 leads to the unknown service shp: did you mean shop?',
    ])
    t.strictSame(lint(`registry: consul://127.0.0.1${text}`), [])
  },
)

t.test('a gateway that only redirects or responds needs no service', async (t) => {
  t.strictSame(lint('handler: proxy\nroutes: [{ redirect: { scheme: https } }]'), [])
})
