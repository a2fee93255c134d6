import t from 'tap'
import { openConfiguredGateway } from '../../../../fixtures/configured-gateway.ts'
import { listenHttp } from '../../../../fixtures/listen.ts'

t.test('a rewritten query keeps the name of a parameter that begins with ?', async (t) => {
  const port = await listenHttp(t, ({ url }, reply) => reply.end(url))
  const { send } = await openConfiguredGateway(
    t,
    `services: { shop: ['127.0.0.1:${port}'] }
routes:
  - { match: { path: /q, query: { debug: { present: true } } }, respond: { status: 403 } }
  - { match: { path: /q }, service: shop, rewrite: { query: { source: web } } }
`,
  )
  t.match(await send('GET', '/q?debug=1'), { status: 403 })
  t.match(await send('GET', '/q?a=1'), { status: 200, text: '/q?a=1&source=web' })
  t.match(await send('GET', '/q??debug=1'), { status: 200, text: '/q?%3Fdebug=1&source=web' })
})
