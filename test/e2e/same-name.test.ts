// A service of a tenant with the name of a service in mx.yaml uses nothing from the operator's configuration.
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { listenHttp } from '../fixtures/listen.ts'
import { logIn, openServer } from '../fixtures/server.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const ACME = { 'mx-namespace': 'acme' }
const AUTH = { id: 'shop', secret: 'a secret' }

t.test(
  'headers, health checks and timeouts of mx.yaml do not apply to the same name in another namespace',
  async (t) => {
    const received: IncomingMessage[] = []
    const response = (name: string) =>
      listenHttp(t, (request, reply) => {
        if (name === 'tenant') received.push(request)
        if (request.url !== '/billing/slow')
          reply.end(JSON.stringify({ name, key: request.headers['x-api-key'] ?? '' }))
      })
    const [ownResponse, tenant] = [await response('operator'), await response('tenant')]
    const file = join(makeTempFolder(t, 'same-name'), 'mx.yaml')
    writeFileSync(
      file,
      `
reply_timeout: 200ms
errors: { 404: service:billing }
services:
  billing:
    nodes: [127.0.0.1:${ownResponse}]
    timeout: { response: 60s }
    health: { path: /internal, body: secret, interval: 10ms }
    plugins: [ headers: { request: { set: { x-api-key: secret } } } ]
routes:
  - match: { path: /pay/** }
    service: billing
    handler: proxy
    plugins: [ headers: { request: { set: { x-api-key: secret } } } ]
`,
    )
    const { post, get, url } = await openServer(t, [
      `--config=${file}`,
      '--register_allow=loopback',
    ])
    const namespace = { namespace: 'acme' }
    const account = { ...AUTH, type: 'service', scopes: ['service'], options: namespace }
    t.equal((await post('/auth/generate', account)).status, 200)
    const authorization = `Bearer ${await logIn(url, AUTH, 'acme')}`
    const service = {
      ...{ name: 'billing', metadata: { handler: 'proxy' }, options: { domain: 'acme' } },
      nodes: [{ id: 'a', address: `127.0.0.1:${tenant}`, metadata: {} }],
    }
    const registered = await post('/registry/register', service, { authorization, ...ACME })
    t.equal(registered.status, 200)

    const body = (path: string, headers = {}) =>
      get(path, { authorization: '', ...headers }).then((result) => result.body)
    t.same(await body('/billing/a'), { name: 'operator', key: 'secret' })
    t.same(await body('/billing/a', ACME), { name: 'tenant', key: '' })
    t.same(await body('/pay/a', ACME), { name: 'operator', key: 'secret' }, 'a configured route')
    t.match(await body('/billing/slow', ACME), { Code: 504 }, 'reply_timeout of the gateway')
    t.same(await body('/none/a', ACME), { name: 'operator', key: '' }, 'an error page')
    const { services } = (await get('/api/services')).body as { services: { service: string }[] }
    const names = services.map(({ service }) => service).filter((name) => /billing/.test(name))
    t.same(names, ['acme/billing', 'billing'], 'counted separately')
    t.notOk(
      received.some(({ url }) => url === '/internal'),
      'no health check',
    )
  },
)
