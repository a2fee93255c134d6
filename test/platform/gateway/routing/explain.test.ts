import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../../adapters/registry/memory.ts'
import type { Authorizer } from '../../../../core/contracts/auth.ts'
import { createDisposer } from '../../../../lib/async/disposer.ts'
import { configurationFrom } from '../../../../platform/config/load.ts'
import { explain } from '../../../../platform/gateway/routing/explain.ts'
import type { ExplainedRequest } from '../../../../platform/gateway/routing/explained-request.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { readFlags } from '../../../../platform/settings/flags.ts'
import { createAccount } from '../../../fixtures/auth-source.ts'
import { openAuthorizer } from '../../../fixtures/authorizer.ts'
import { openRawBackend } from '../../../fixtures/raw-backend.ts'
import { makeService } from '../../../fixtures/services.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

async function explainWith(
  t: Test,
  request: Partial<ExplainedRequest>,
  args: readonly string[],
  authorizer?: Authorizer,
) {
  const configuration = await configurationFrom(readFlags([...args], 'api'), {})()
  const closing = createDisposer()
  t.teardown(closing.close)
  return explain(
    { method: 'GET', path: '/', headers: {}, ...request },
    { configuration, authorizer, log: createLog('silent') },
    closing,
  )
}

const WORDS = ['--backend', 'greeter=127.0.0.1:9001', '--backend', 'greeter=127.0.0.1:9002']

t.test('returns stages, route, handler, nodes and the selected node', async (t) => {
  const result = await explainWith(t, { path: '/greeter/hello' }, [...WORDS, '--handler=proxy'])
  t.match(result, {
    ...{ handler: 'proxy', namespace: 'go.mx.api', account: '', rulings: [], known: [] },
    route: { service: 'go.mx.api.greeter' },
    nodes: [{ address: '127.0.0.1:9001', protocol: 'http', draining: false }, {}],
    answer: undefined,
  })
  t.equal(result.sentTo, result.nodes![0]!.id)
  t.match(result.stages.at(-1), { plugin: undefined, hook: 'handle' })
})

t.test('sends nothing to a node', async (t) => {
  const backend = await openRawBackend(t)
  const args = ['--backend', `greeter=127.0.0.1:${backend.port}`, '--handler=proxy']
  t.ok((await explainWith(t, { path: '/greeter/hello' }, args)).sentTo)
  const call = { method: 'POST', path: '/greeter.Greeter/Hello', body: '\0'.repeat(5) }
  const grpc = ['--backend', `greeter=grpc://127.0.0.1:${backend.port}`, '--handler=rpc']
  const headers = { 'content-type': 'application/grpc-web+proto' }
  t.ok((await explainWith(t, { ...call, headers }, grpc)).sentTo)
  t.equal(backend.connections.length, 0)
})

t.test('returns the response and all services for an unknown path', async (t) => {
  const result = await explainWith(t, { path: '/greter/hello' }, WORDS)
  t.match(result, {
    ...{ route: undefined, handler: undefined, nodes: undefined, sentTo: undefined },
    answer: { status: 404, error: { code: 404, id: 'go.mx.api.greter' } },
    known: ['go.mx.api.greeter'],
  })
})

t.test('returns access decisions with the rule that applies', async (t) => {
  const { authorizer } = await openAuthorizer(t, {
    ...{ id: 'closed', scope: '', access: 'DENIED', priority: 1 },
    resource: { type: '*', name: '*', endpoint: '*' },
  })
  const args = [...WORDS, '--handler=proxy', '--auth=mx://127.0.0.1:1']
  const result = await explainWith(t, { path: '/greeter/hello' }, args, authorizer)
  t.match(result, {
    rulings: [{ namespace: 'mx', granted: false, rule: { id: 'closed' } }],
    answer: { status: 401 },
  })
  t.equal(result.sentTo, undefined)
})

t.test('rejects malformed requests like a listener, and accepts WebSocket requests', async (t) => {
  const args = [...WORDS, '--handler=proxy', '--max_body=3']
  for (const request of [
    { path: '/greeter/a%2fb' },
    { path: '/greeter/../b' },
    { path: '/greeter', headers: { host: ['a', 'b'] } },
    { path: '/greeter', headers: { 'content-length': 'x' } },
  ])
    t.match(await explainWith(t, request, args), {
      ...{ stages: [], route: undefined, sentTo: undefined, answer: { status: 400 } },
      why: 'the listener rejected the request before any plugin ran',
    })
  t.match(await explainWith(t, { method: 'TRACE', path: '/greeter' }, args), {
    answer: { status: 405 },
  })
  const long = await explainWith(t, { method: 'POST', path: '/greeter', body: 'long' }, args)
  t.match(long.answer, { status: 413 })
  const socket = { path: '/greeter', headers: { Upgrade: 'websocket' } }
  t.ok((await explainWith(t, socket, [...WORDS, '--handler=web'])).sentTo)
})

t.test('handles %2F like the gateway', async (t) => {
  const request = { path: '/greeter/a%2fb' }
  const args = [...WORDS, '--handler=proxy', '--encoded_slash_services=greeter']
  t.ok((await explainWith(t, request, args)).sentTo)
  const others = [...WORDS, '--handler=proxy', '--encoded_slash_services=other']
  t.match((await explainWith(t, request, others)).answer, { status: 400 })
})

t.test('returns the settings in force for the service', async (t) => {
  const args = [...WORDS, '--handler=proxy', '--reply_timeout=7s', '--balance=p2c']
  t.match((await explainWith(t, { path: '/greeter' }, args)).settings, {
    ...{ balance: 'p2c', keep_alive: '4s', max_connection_age: '5m' },
    ...{ 'timeout.request': 'none', 'timeout.response': '7s' },
  })
  t.equal((await explainWith(t, { path: '/' }, args)).settings, undefined)
})

t.test('reports the registry as the source of a setting', async (t) => {
  const registry = createMemoryRegistry()
  const metadata = {
    ...{ handler: 'proxy', 'mx/timeout.response': '2s', 'mx/balance': 'p2c' },
    ...{ 'mx/host_header': 'backend', 'mx/keep_alive': 'soon' },
  }
  await registry.register!({ ...makeService('go.mx.api.shop', ['127.0.0.1:9001']), metadata })
  const file = join(makeTempFolder(t, 'explain'), 'mx.yaml')
  writeFileSync(file, 'services: { shop: { balance: random } }')
  const args = ['--registry=memory', `--config=${file}`]
  const configuration = await configurationFrom(readFlags(args, 'api'), {})()
  const closing = createDisposer()
  t.teardown(closing.close)
  const { settings } = await explain(
    { method: 'GET', path: '/shop/', headers: {} },
    { configuration, authorizer: undefined, registry, log: createLog('silent') },
    closing,
  )
  t.match(settings, {
    ...{ 'timeout.response': '2s (registry)', host: 'backend (registry)' },
    ...{ balance: 'random', keep_alive: '4s' },
  })
})

t.test('does not publish events', async (t) => {
  const request = { method: 'POST', path: '/user/created', body: '{}' }
  t.match(await explainWith(t, request, ['--handler=event']), {
    ...{ handler: 'event', sentTo: 'topic' },
    route: { service: 'go.mx.api.user', endpoint: 'created' },
  })
})

/** Explains a request with an `mx.yaml` and a registry with the `shop` service, whose endpoint has policies. */
async function explainFile(t: Test, text: string, request: Partial<ExplainedRequest>) {
  const file = join(makeTempFolder(t, 'explain'), 'mx.yaml')
  writeFileSync(file, text)
  const registry = createMemoryRegistry()
  const value = { name: '', type: 'Object', values: [] }
  const policies = { 'policy.headers': '{"request":{"set":{"x-from":"endpoint"}}}' }
  await registry.register!({
    ...makeService('go.mx.api.shop', ['127.0.0.1:9001']),
    endpoints: [{ name: 'Shop.Find', metadata: policies, request: value, response: value }],
  })
  const args = ['--registry=memory', `--config=${file}`]
  const configuration = await configurationFrom(readFlags(args, 'api'), {})()
  const closing = createDisposer()
  t.teardown(closing.close)
  return explain(
    { method: 'GET', path: '/shop/find', headers: {}, ...request },
    { configuration, authorizer: undefined, registry, log: createLog('silent') },
    closing,
  )
}

t.test('a plugin without the hook of a stage is not the source of the stage', async (t) => {
  const text = 'plugins: [namespace, headers: { reply: { set: { x-from: gateway } } }]'
  const { stages } = await explainFile(t, text, {})
  t.match(
    stages.filter(({ plugin }) => plugin === 'headers'),
    [{ hook: 'onRequest', scope: 'endpoint', source: 'registry' }],
  )
})

t.test('returns the Host that the node receives', async (t) => {
  const text = `
handler: proxy
services:
  one: 127.0.0.1:9001
  two: { nodes: [127.0.0.1:9002], host: backend }
  three: { nodes: [127.0.0.1:9003], host: three.test }
routes:
  - { match: { path: /r/** }, service: two, rewrite: { host: "r.{host}" } }
`
  const rows = [
    ['/one', 'a.test:81'],
    ['/two', '127.0.0.1:9002'],
    ['/three', 'three.test'],
    ['/r/x', 'r.a.test:81'],
    ['/missing', 'a.test:81'],
  ] as const
  for (const [path, host] of rows)
    t.equal((await explainFile(t, text, { path, headers: { host: 'a.test:81' } })).host, host, path)
})

t.test(
  'explains a request to the main listener by default, or to the named listener',
  async (t) => {
    const text = `
listen:
  - { name: public, address: "127.0.0.1:9080" }
  - { name: inside, address: "127.0.0.1:9081" }
routes:
  - { name: only, match: { path: /only }, respond: { body: ok }, listeners: [inside] }
`
    const path = '/only'
    t.equal((await explainFile(t, text, { path })).routeName, undefined)
    t.equal((await explainFile(t, text, { path, listener: 'public' })).routeName, undefined)
    t.equal((await explainFile(t, text, { path, listener: 'inside' })).routeName, 'only')
    await t.rejects(explainFile(t, text, { path, listener: 'insid' }), {
      code: 400,
      message: 'unknown listener insid; configured: public, inside',
    })
  },
)

t.test('a request that a route rejects has a route and no handler', async (t) => {
  const text = `
handler: proxy
services: { one: 127.0.0.1:9001 }
routes: [{ name: tenant, match: { path: /** }, service: one, rewrite: { host: "{header.x-tenant}.test" } }]
`
  t.match(await explainFile(t, text, { path: '/x' }), {
    ...{ routeName: 'tenant', handler: undefined, sentTo: undefined, answer: { status: 400 } },
    why: 'the route step rejected the request',
  })
})

t.test(
  'checks the size of a chunked body after all stages that run before the body arrives',
  async (t) => {
    const text = (allowed: string) => `
handler: proxy
plugins: [namespace, body-limit: { limit: 3 }, ip-allow: { allow: [${allowed}] }]
services: { one: 127.0.0.1:9001 }
`
    const request = {
      ...{ method: 'POST', path: '/one', body: 'long' },
      headers: { 'transfer-encoding': 'chunked' },
    }
    t.match((await explainFile(t, text('10.0.0.0/8'), request)).answer, { status: 403 })
    const late = await explainFile(t, text('loopback'), request)
    t.match(late, { sentTo: undefined, answer: { status: 413 } })
    t.match(late.stages.at(-1), { hook: 'handle' })
  },
)

t.test(
  'the plugin of timeout.request has the scope and line of its service or route',
  async (t) => {
    const text = `
handler: proxy
services: { one: { nodes: [127.0.0.1:9001], timeout: { request: 1s } } }
routes: [{ match: { path: /r/** }, service: one, timeout: { request: 2s } }]
`
    for (const [path, scope, line] of [
      ['/one', 'service', /mx\.yaml:3:/],
      ['/r/x', 'route', /mx\.yaml:4:/],
    ] as const)
      t.match(
        (await explainFile(t, text, { path })).stages.filter(
          ({ plugin }) => plugin === 'time-limit',
        ),
        [{ hook: 'onRequest', scope, source: line }],
      )
  },
)

t.test(
  'a call has the response timeout of the gateway, and timeout.request of the service',
  async (t) => {
    const timeout = 'timeout: { response: 2s, idle: 3s, request: 4s }'
    const text = (handler: string) => `
reply_timeout: 9s
services: { shop: { ${timeout} } }
routes: [{ match: { path: /r/** }, service: shop, ${handler}, timeout: { response: 1s } }]
`
    t.match((await explainFile(t, text('handler: proxy'), { path: '/r/x' })).settings, {
      ...{ 'timeout.response': '1s', 'timeout.idle': '3s', 'timeout.request': '4s' },
    })
    const call = text('handler: rpc, endpoint: Shop.Find')
    t.match((await explainFile(t, call, { path: '/r/x' })).settings, {
      ...{ 'timeout.response': '9s', 'timeout.idle': '1m', 'timeout.request': '4s' },
    })
  },
)

const CONNECTIONS = `
handler: proxy
listen:
  - { name: plain, address: "127.0.0.1:0" }
  - { name: tls, address: "127.0.0.1:0", tls: { cert: self-signed } }
  - { name: local, address: "unix:/run/mx.sock" }
services: { other: 127.0.0.1:9001 }
routes:
  - { name: unix, match: { client: unix }, service: other }
  - { name: network, match: { client: 10.0.0.0/8 }, service: other }
  - { name: redirect, listeners: [plain], service: other, plugins: [redirect-https] }
  - { name: rest, service: other, plugins: [redirect-https] }
`

t.test('uses TLS and the client address of the listener unless they are set', async (t) => {
  const rows: [Partial<ExplainedRequest>, string, number | undefined][] = [
    [{}, 'rest', undefined],
    [{ secure: false }, 'rest', 308],
    [{ listener: 'tls' }, 'rest', undefined],
    [{ listener: 'plain' }, 'redirect', 308],
    [{ listener: 'plain', secure: true }, 'redirect', undefined],
    [{ listener: 'plain', client: '10.1.2.3' }, 'network', undefined],
    [{ client: '192.0.2.1' }, 'rest', undefined],
    [{ listener: 'local' }, 'unix', undefined],
  ]
  for (const [request, name, status] of rows) {
    const { routeName, answer } = await explainFile(t, CONNECTIONS, request)
    t.strictSame([routeName, answer?.status], [name, status], JSON.stringify(request))
  }
})

t.test('rejects a client address that the listener cannot have with 400', async (t) => {
  const rows: [Partial<ExplainedRequest>, RegExp][] = [
    [{ client: 'localhost' }, /^client must be an IP address, got "localhost"$/],
    [{ listener: 'local', client: '10.0.0.1' }, /^clients of the Unix socket unix:\/run\/mx\.sock/],
    [{ listener: 'none' }, /^unknown listener none; configured: plain, tls, local$/],
  ]
  for (const [request, message] of rows)
    await t.rejects(explainFile(t, CONNECTIONS, request), { code: 400, message })
})

t.test('uses the settings of the only listener if there is no list', async (t) => {
  const explainMain = (...words: string[]) =>
    explainWith(t, { path: '/greeter/x' }, [...WORDS, '--handler=proxy', ...words])
  const text = '--plugin=redirect-https'
  t.equal((await explainMain(text)).answer?.status, 308)
  t.equal(
    (await explainMain(text, '--enable_tls', '--tls_cert_file=self-signed')).answer,
    undefined,
  )
})

t.test('counts the request in no quota', async (t) => {
  const { authorizer, issue } = await openAuthorizer(t)
  const requestQuotas = {
    reserve: async () => t.fail('counted') as never,
    release: async () => t.fail('released') as never,
  }
  const file = join(makeTempFolder(t, 'quota'), 'mx.yaml')
  const rule = '{ name: daily, limit: 1, period: day }'
  writeFileSync(
    file,
    `handler: proxy
services:
  shop: { nodes: ["127.0.0.1:9001"], plugins: [ quota: { rules: [${rule}] } ] }
`,
  )
  const headers = { authorization: `Bearer ${await issue(createAccount())}` }
  const request = { path: '/shop/a', headers }
  const args = [`--config=${file}`, '--auth=mx://127.0.0.1:1']
  const { stages, answer } = await explainWith(t, request, args, { ...authorizer, requestQuotas })
  t.equal(answer, undefined)
  t.match(JSON.stringify(stages), 'quota')
})
