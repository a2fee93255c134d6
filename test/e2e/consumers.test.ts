import { createHash } from 'node:crypto'
import t from 'tap'
import { openConfiguredGateway } from '../fixtures/configured-gateway.ts'
import { openEcho } from '../fixtures/echo-backend.ts'
import { LISTENERS } from '../fixtures/gateway.ts'

const toKey = (account: string): string =>
  `"${account} ${createHash('sha256').update(`key of ${account}`).digest('hex')}"`

for (const listener of Object.keys(LISTENERS)) {
  t.test(
    `${listener}: plugins of an account replace those of route, service and gateway`,
    async (t) => {
      const port = await openEcho(t, 'shop')
      const { send } = await openConfiguredGateway(
        t,
        `
services: { shop: "http://127.0.0.1:${port}" }
plugins:
  - namespace
  - api-keys: { keys: [${toKey('partner')}, ${toKey('other')}] }
  - body-limit: { limit: 5 }
  - headers: { reply: { set: { x-scope: gateway } } }
routes:
  - match: { path: /api }
    service: shop
    plugins: [ body-limit: { limit: 10 }, headers: { reply: { set: { x-scope: route } } } ]
consumers:
  - account: partner
    plugins: [ body-limit: { limit: 20 }, headers: { reply: { set: { x-scope: consumer } } } ]
`,
        { listener },
      )
      const post = async (account: string, path: string, bytes: number) => {
        const { status, headers } = await send(
          'POST',
          path,
          { 'x-api-key': `key of ${account}` },
          'x'.repeat(bytes),
        )
        return [status, headers['x-scope']]
      }
      t.strictSame(await post('partner', '/api', 20), [200, 'consumer'])
      t.strictSame(await post('partner', '/api', 21), [413, 'consumer'])
      t.strictSame(await post('partner', '/shop/a', 20), [200, 'consumer'])
      t.strictSame(await post('other', '/api', 10), [200, 'route'])
      t.strictSame(await post('other', '/api', 11), [413, 'route'])
      t.strictSame(await post('other', '/shop/a', 5), [200, 'gateway'])
      t.strictSame(await post('other', '/shop/a', 6), [413, 'gateway'])
      t.equal((await post('stranger', '/api', 20))[0], 401)
    },
  )
}
