import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { openConfiguredGateway } from '../fixtures/configured-gateway.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import { listenHttp } from '../fixtures/listen.ts'

for (const listener of Object.keys(LISTENERS)) {
  t.test(
    `${listener}: an authentication server admits and denies requests of a route`,
    async (t) => {
      const queries: IncomingMessage[] = []
      const auth = await listenHttp(t, (request, reply) => {
        queries.push(request)
        if (request.headers.cookie === 'session=jane') reply.setHeader('Remote-User', 'jane').end()
        else reply.writeHead(302, { location: 'https://login.test/' }).end('log in')
      })
      const backend = await listenHttp(t, (request, reply) => {
        request.pipe(reply.setHeader('x-seen', `${request.url} ${request.headers['remote-user']}`))
      })
      const { send } = await openConfiguredGateway(
        t,
        `
services: { shop: "http://127.0.0.1:${backend}" }
routes:
  - match: { path: /api/** }
    service: shop
    strip_prefix: /api
    plugins:
      - forward-auth: { address: "http://127.0.0.1:${auth}/verify", auth_response_headers: [Remote-User] }
  - match: { path: /open }
    service: shop
`,
        { listener },
      )
      const denied = await send('GET', '/api/a?b=c', { 'remote-user': 'admin' })
      t.match(denied, { status: 302, text: 'log in', headers: { location: 'https://login.test/' } })
      const admitted = await send(
        'POST',
        '/api/a?b=c',
        { cookie: 'session=jane', 'remote-user': 'x' },
        'body',
      )
      t.match(admitted, { status: 200, text: 'body', headers: { 'x-seen': '/a?b=c jane' } })
      t.equal((await send('GET', '/open')).status, 200)
      t.equal(queries.length, 2)
      t.match(queries[1]!.headers, {
        ...{ 'x-forwarded-uri': '/api/a?b=c', 'x-forwarded-method': 'POST' },
        ...{ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http' },
      })
    },
  )
}
