import t from 'tap'
import { parseConfig } from '../../../../platform/config/parse-file.ts'
import { listConfiguredRoutes } from '../../../../platform/gateway/routes/list-configured-routes.ts'
import { mergeSettings } from '../../../../platform/settings/sources.ts'

const TEXT = `
services: { shop: { nodes: [127.0.0.1:1], plugins: [body-limit, headers] } }
routes:
  - name: api
    match: { host: shop.test, path: /api/**, method: GET, headers: { x-beta: "1" }, query: { v: { prefix: "2" } } }
    service: shop
    plugins: [ body-limit: { limit: 3 } ]
  - { match: { client: 10.0.0.0/8, headers: { x-a: { present: true } } }, redirect: { scheme: https } }
  - { match: { path: /healthz }, respond: { status: 204 } }
`

function list(search = '', limit = 100, skip = 0) {
  const inputs = new Map()
  const config = parseConfig(TEXT, 'mx.yaml')
  const configuration = { settings: mergeSettings(inputs), config, inputs, file: 'mx.yaml' }
  return listConfiguredRoutes(configuration, { search, limit, skip })
}

t.test('lists match, action and plugins of each route in the order of the file', async (t) => {
  t.strictSame(list(), {
    total: 3,
    routes: [
      {
        ...{ name: 'api', source: 'mx.yaml:4:5', methods: ['GET'], paths: ['/api/**'] },
        ...{ hosts: ['shop.test'], conditions: ['header x-beta = 1', 'query v begins with 2'] },
        action: 'service go.mx.api.shop',
        plugins: [
          { name: 'headers', scope: 'service', source: 'mx.yaml:2:65' },
          { name: 'body-limit', scope: 'route', source: 'mx.yaml:7:16' },
        ],
      },
      {
        ...{ name: '2', source: 'mx.yaml:8:5', methods: [], paths: ['/**'], hosts: [] },
        conditions: ['header x-a', 'client in 10.0.0.0/8'],
        ...{ action: 'redirect', plugins: [] },
      },
      {
        ...{ name: '3', source: 'mx.yaml:9:5', methods: [], paths: ['/healthz'], hosts: [] },
        ...{ conditions: [], action: 'respond 204', plugins: [] },
      },
    ],
  })
})

t.test('returns the page of routes that contain all search words', async (t) => {
  t.match(list('BODY-limit shop.test'), { total: 1, routes: [{ name: 'api' }] })
  t.match(list('', 1, 1), { total: 3, routes: [{ name: '2' }] })
  t.same(list('none'), { total: 0, routes: [] })
})
