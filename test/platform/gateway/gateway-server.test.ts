import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type IncomingMessage, type RequestListener, request, type ServerResponse } from 'node:http'
import { request as requestTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { createNatsBroker } from '../../../adapters/broker/nats.ts'
import { parseNatsUrl } from '../../../adapters/nats/url.ts'
import type { Message } from '../../../core/contracts/broker.ts'
import { parseConfig } from '../../../platform/config/parse-file.ts'
import type { Configuration } from '../../../platform/config/types.ts'
import { type ConfigFile, NO_CONFIG } from '../../../platform/config/types.ts'
import { startGatewayServer } from '../../../platform/gateway/gateway-server.ts'
import type { GatewayServer } from '../../../platform/gateway/types.ts'
import { createLog } from '../../../platform/process/log.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { mergeInputs, mergeSettings } from '../../../platform/settings/sources.ts'
import { findLocalCaller } from '../../../sdk/internal/local-services.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { Service } from '../../../sdk/service/service.ts'
import { createAccount, createRule } from '../../fixtures/auth-source.ts'
import { openAuthorizer } from '../../fixtures/authorizer.ts'
import { createCertificate, createCertificateFolder } from '../../fixtures/certificates.ts'
import { listenHttp } from '../../fixtures/listen.ts'
import { startNats } from '../../fixtures/nats.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { RawClient } from '../../fixtures/raw-client.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'

const LOG = createLog('silent')

async function startBackend(t: Test, listener: RequestListener): Promise<string> {
  return `127.0.0.1:${await listenHttp(t, listener)}`
}

function named(t: Test, name: string): Promise<string> {
  return startBackend(t, (_, response) => response.end(name))
}

function configure(args: readonly string[], config: ConfigFile = NO_CONFIG): Configuration {
  const handler = args.some((arg) => arg.startsWith('--handler')) ? [] : ['--handler=proxy']
  const flags = readFlags(['--address=127.0.0.1:0', '--access_log=off', ...handler, ...args])
  const inputs = mergeInputs(flags, config.settings)
  return { settings: mergeSettings(inputs), config, inputs, file: undefined }
}

async function start(
  t: Test,
  configuration: Configuration,
): Promise<{ api: GatewayServer; url: string }> {
  const api = await startGatewayServer({ configuration, log: LOG })
  t.teardown(api.close)
  return { api, url: `http://127.0.0.1:${api.port}` }
}

async function text(url: string): Promise<string> {
  return (await fetch(url)).text()
}

for (const listener of ['uws', 'node']) {
  t.test(`listener ${listener}: balances requests over the nodes of their service`, async (t) => {
    const nodes = await Promise.all([named(t, 'one'), named(t, 'two')])
    const args = ['--listener', listener, '--backend', `greeter=${nodes.join(',')}`]
    const { api, url } = await start(t, configure(args))
    t.equal(api.listener, listener)
    t.same(api.services, ['go.mx.api.greeter'])
    t.same((await Promise.all([text(`${url}/greeter`), text(`${url}/greeter`)])).sort(), [
      'one',
      'two',
    ])
    t.match(await (await fetch(url)).json(), { version: /^\d+\.\d+\.\d+$/ })
  })
}

for (const listener of ['uws', 'node'])
  t.test(`${listener}: forwards %2F only to services that accept it`, async (t) => {
    const registry = await startBackend(t, ({ method, url }, response) => {
      response.end(`${method} ${url}`)
    })
    const args = [`--listener=${listener}`, '--backend', `npm=${registry}`]
    const sendRequest = async (
      { port }: GatewayServer,
      path: string,
      { host = 'gateway.test', ...options }: { host?: string; method?: string; body?: string } = {},
    ) => {
      const sent = request({ port, path, host: '127.0.0.1', headers: { host }, ...options })
      sent.end(options.body)
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      let body = ''
      for await (const chunk of response) body += chunk
      return response.statusCode === 200 ? body : response.statusCode
    }
    const listed = [...args, '--encoded_slash_services=npm', '--backend', `app=${registry}`]
    const { api } = await start(t, configure(listed))
    t.equal(await sendRequest(api, '/npm/@scope%2fname?a=%2F'), 'GET /npm/@scope%2fname?a=%2F')
    const put = { method: 'PUT', body: 'body' }
    t.equal(await sendRequest(api, '/npm/@scope%2fname', put), 'PUT /npm/@scope%2fname')
    for (const path of ['/app/a%2Fb', '/npm/a%2F..%2Fb', '/npm/a%2F%252e%252e', '/app/..%2fnpm/x'])
      t.equal(await sendRequest(api, path), 400, path)
    t.equal(await sendRequest(api, '/npm%2Fx'), 404)

    const calls = ['--handler=rpc', '--resolver=proxy', '--encoded_slash_services=npm']
    t.equal(
      await sendRequest((await start(t, configure([...args, ...calls]))).api, '/npm/a%2Fb'),
      400,
    )
    const { api: byHost } = await start(t, configure([...args, '--resolver=host']))
    t.equal(await sendRequest(byHost, '/a%2fb', { host: 'npm' }), 'GET /a%2fb')
    const { api: plain } = await start(t, configure(args))
    t.equal(await sendRequest(plain, '/npm/a%2Fb'), 400)
  })

t.test('encoded_slash of a service applies with a reload', async (t) => {
  const node = await startBackend(t, ({ url }, response) => response.end(url))
  const toConfiguration = (value: string): Configuration =>
    configure(
      [],
      parseConfig(`services: { npm: { nodes: ["${node}"], encoded_slash: ${value} } }`, 'mx.yaml'),
    )
  const { api, url } = await start(t, toConfiguration('false'))
  const sendRequest = async (): Promise<string | number> => {
    const response = await fetch(`${url}/npm/@scope%2fname`)
    return response.ok ? response.text() : response.status
  }
  t.equal(await sendRequest(), 400)
  await api.reload(toConfiguration('true'))
  t.equal(await sendRequest(), '/npm/@scope%2fname')
  await api.reload(toConfiguration('false'))
  t.equal(await sendRequest(), 400)
})

t.test('rules match a path regardless of duplicate and encoded slashes', async (t) => {
  const rules = [
    createRule({ id: 'open' }),
    createRule({ id: 'closed', access: 'DENIED', priority: 1, resource: 'service:*:/app/admin/*' }),
  ]
  const { authorizer } = await openAuthorizer(t, ...rules)
  const args = ['--backend', `app=${await named(t, 'one')}`, '--encoded_slash_services=app']
  const api = await startGatewayServer({ configuration: configure(args), log: LOG, authorizer })
  t.teardown(api.close)
  const sendRequest = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${api.port}${path}`)).status
  t.equal(await sendRequest('/app/a%2Fb'), 200)
  for (const path of ['admin/x', 'admin%2fx', '%61dmin%2Fx', '%2Fadmin/x', 'admin%2F%2fx'])
    t.equal(await sendRequest(`/app/${path}`), 401, path)
  // If decoded twice or without path parameters, these would be paths other than the authorized one.
  for (const path of [
    'x%2F..%2Fadmin/x',
    'x%2F%252e%252e%2Fadmin/x',
    'admin;%2Fx',
    'a%2F%2561dmin',
  ])
    t.equal(await sendRequest(`/app/${path}`), 400, path)
})

t.test('the registry memory includes the configured backends, even after a reload', async (t) => {
  const args = ['--registry=memory', '--backend', `greeter=${await named(t, 'one')}`]
  const { api, url } = await start(t, configure(args))
  t.equal(await text(`${url}/greeter`), 'one')
  await api.reload(
    configure(['--registry=memory', '--backend', `greeter=${await named(t, 'two')}`]),
  )
  t.equal(await text(`${url}/greeter`), 'two')
})

t.test('calls services of the process without sockets if allowed', async (t) => {
  // A closed port.
  const host = { address: '127.0.0.1:1', server: 'node' as const, add: () => () => {} }
  const { log } = createQuietLog()
  const service = new Service({ name: 'greeter', registry: 'memory', host, log }).handle(
    'Greeter',
    {
      hello: endpoint({ handle: () => ({ message: 'Hello' }) }),
    },
  )
  t.teardown(() => service.stop())
  await service.start()
  const args = ['--registry=memory', '--namespace', ' ', '--handler=rpc']
  const configuration = configure(args)
  const start = async (findCaller?: typeof findLocalCaller): Promise<number> => {
    const api = await startGatewayServer({
      configuration,
      log: LOG,
      ...(findCaller && { findCaller }),
    })
    t.teardown(api.close)
    return (await fetch(`http://127.0.0.1:${api.port}/greeter/hello`)).status
  }
  t.equal(await start(findLocalCaller), 200)
  t.equal(await start(), 502)
})

t.test('builds the effective default plugins', async (t) => {
  t.same((await start(t, configure(['--namespace', ' ']))).api.plugins, [
    'request-id',
    'forwarded',
    'body-limit',
  ])
  const args = [
    '--cors_origins=https://a.test',
    '--max_body=none',
    '--server_timing=loopback',
    '--plugin=headers',
  ]
  const { api } = await start(t, configure(args))
  t.same(api.plugins, ['request-id', 'server-timing', 'cors', 'namespace', 'forwarded', 'headers'])
})

t.test(
  'a reload changes services, timeouts, limits and plugins without aborting requests',
  async (t) => {
    let finish = (): void => {}
    const slow = await startBackend(t, (request, response) => {
      if (request.url === '/greeter/never') return
      response.write('a')
      finish = () => response.end('b')
    })
    const { api, url } = await start(t, configure(['--backend', `greeter=${slow}`]))
    const running = await fetch(`${url}/greeter`)
    const file = parseConfig(
      `plugins: [body-limit, namespace, {headers: {reply: {set: {x-new: "yes"}}}}]\nservices: {greeter: ${slow}, other: ${await named(t, 'other')}}\nmax_body: 3\nreply_timeout: 30ms`,
      'mx.yaml',
    )
    await api.reload(configure([], file))
    finish()
    t.equal(await running.text(), 'ab')
    const other = await fetch(`${url}/other`)
    t.equal(other.headers.get('x-new'), 'yes')
    t.equal(other.headers.get('x-request-id'), null)
    t.equal(await other.text(), 'other')
    const upload = request(`${url}/other`, { method: 'POST', headers: { 'content-length': 4 } })
    upload.flushHeaders()
    const [rejected] = await once(upload, 'response')
    t.equal(rejected.statusCode, 413)
    t.equal((await fetch(`${url}/greeter/never`)).status, 504)
  },
)

t.test('a service in mx.yaml can override balance', async (t) => {
  const nodes = [await named(t, 'one'), await named(t, 'two')].join(', ')
  const file = parseConfig(
    `services:\n  bound: { nodes: [${nodes}], balance: hash:path }\n  free: [${nodes}]\n`,
    'mx.yaml',
  )
  const { url } = await start(t, configure([], file))
  const all = async (path: string): Promise<number> => {
    return new Set([await text(url + path), await text(url + path), await text(url + path)]).size
  }
  t.equal(await all('/bound/x'), 1)
  t.equal(await all('/free/x'), 2)
})

t.test('a reload with a failing plugin has no effect', async (t) => {
  const { api, url } = await start(t, configure(['--backend', `greeter=${await named(t, 'one')}`]))
  await t.rejects(
    api.reload(configure(['--plugin=cros', '--namespace=other'])),
    /--plugin: unknown plugin "cros"/,
  )
  t.equal(await text(`${url}/greeter`), 'one')
  t.match(await text(`${url}/unknown`), /go\.mx\.api\.unknown/)
})

t.test('handler event: publishes a request to the topic of its path', async (t) => {
  const { url } = await start(t, configure(['--handler=event']))
  const reply = await fetch(`${url}/orders/created`, { method: 'POST', body: '{}' })
  t.equal(reply.status, 200)
  t.match(await reply.json(), { id: /^[0-9a-f-]{36}$/ })
})

t.test('handler event: with --broker, other programs receive the event', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const broker = createNatsBroker({ address: parseNatsUrl(server.url) })
  t.teardown(() => broker.close?.())
  let onMessage: (message: Message) => void
  const received = new Promise<Message>((resolve) => {
    onMessage = resolve
  })
  await broker.subscribe('go.mx.api.orders', (message) => onMessage(message))
  const { url } = await start(t, configure(['--handler=event', `--broker=${server.url}`]))
  const reply = await fetch(`${url}/orders/created`, { method: 'POST', body: '{"a":1}' })
  const { headers, body } = await received
  t.equal(headers['mx-topic'], 'go.mx.api.orders')
  const event = JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>
  t.match(event, {
    name: 'created',
    id: ((await reply.json()) as { id: string }).id,
    data: '{"a":1}',
  })
})

t.test('a failed start leaves no resource open', async (t) => {
  const { api } = await start(t, configure([]))
  const args = [`--address=127.0.0.1:${api.port}`]
  const conflicting = { ...configure([]), settings: mergeSettings(readFlags(args)) }
  await t.rejects(startGatewayServer({ configuration: conflicting, log: LOG }), /in use/)
  await t.rejects(
    startGatewayServer({ configuration: configure(['--plugin=./none.ts']), log: LOG }),
    /none\.ts/,
  )
  await t.rejects(
    startGatewayServer({ configuration: configure(['--broker=nats://127.0.0.1:1']), log: LOG }),
    /^the broker nats:\/\/127\.0\.0\.1:1 is not available: /,
  )
})

t.test('enable_tls serves HTTPS with the configured files', async (t) => {
  const folder = createCertificateFolder(t)
  const { certFile, keyFile } = folder.write('localhost', createCertificate(['localhost']))
  const args = ['--enable_tls', `--tls_cert_file=${certFile}`, `--tls_key_file=${keyFile}`]
  const { api } = await start(
    t,
    configure([...args, '--backend', `greeter=${await named(t, 'one')}`]),
  )
  const call = requestTls({
    port: api.port,
    host: '127.0.0.1',
    path: '/greeter',
    rejectUnauthorized: false,
  })
  const [response] = await once(call.end(), 'response')
  t.equal(response.statusCode, 200)
  t.equal(String(await once(response, 'data')), 'one')
})

t.test('a reload logs new certificates, and invalid ones with a one-line message', async (t) => {
  const folder = createCertificateFolder(t)
  const { certFile, keyFile } = folder.write('localhost', createCertificate(['localhost']))
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const args = ['--enable_tls', `--tls_cert_file=${certFile}`, `--tls_key_file=${keyFile}`]
  const configuration = configure(args)
  const api = await startGatewayServer({ configuration, log })
  t.teardown(api.close)
  folder.write('localhost', createCertificate(['localhost']))
  await api.reload(configuration)
  t.match(lines, [
    { msg: 'certificates reloaded', files: [certFile] },
    { msg: 'configuration reloaded' },
  ])
  lines.length = 0
  writeFileSync(certFile, 'none')
  await api.reload(configuration)
  t.match(lines[0], {
    level: 40,
    msg: /contains no PEM certificate.*; the previous certificates stay/,
  })
  t.notOk(lines[0]?.['err'], 'without a stack')
})

for (const listener of ['uws', 'node']) {
  t.test(
    `listener ${listener}: a drain closes WebSockets with 1012 without waiting for them`,
    async (t) => {
      const backend = new WebSocketServer({ port: 0, host: '127.0.0.1' })
      await once(backend, 'listening')
      t.teardown(() => {
        for (const client of backend.clients) client.terminate()
        backend.close()
      })
      const { port } = backend.address() as AddressInfo
      const args = [
        '--handler=web',
        '--listener',
        listener,
        '--drain_timeout=none',
        '--backend',
        `chat=127.0.0.1:${port}`,
      ]
      const { api } = await start(t, configure(args))
      const socket = new WebSocket(`ws://127.0.0.1:${api.port}/chat`)
      await once(socket, 'open')
      const closed = once(socket, 'close')
      const drained = api.drain()
      t.equal((await closed)[0], 1012)
      await drained
      t.equal(api.inFlight, 0)
    },
  )
}

t.test(
  'returns 503 for the third WebSocket of a client with max_client_websockets=2',
  async (t) => {
    const backend = new WebSocketServer({ host: '127.0.0.1', port: 0 })
    await once(backend, 'listening')
    t.teardown(() => {
      for (const client of backend.clients) client.terminate()
      backend.close()
    })
    const { port } = backend.address() as AddressInfo
    const args = [
      '--handler=web',
      '--max_client_websockets=2',
      '--backend',
      `chat=127.0.0.1:${port}`,
    ]
    const { api } = await start(t, configure(args))
    const connect = async (): Promise<number> => {
      const socket = new WebSocket(`ws://127.0.0.1:${api.port}/chat`)
      t.teardown(() => socket.terminate())
      socket.on('error', () => {})
      return Promise.race([
        once(socket, 'open').then(() => 101),
        once(socket, 'unexpected-response').then(([, response]) => response.statusCode),
      ])
    }
    t.same([await connect(), await connect(), await connect()], [101, 101, 503])
  },
)

t.test('close can be called repeatedly, even during a drain', async (t) => {
  const { api } = await start(t, configure([]))
  await Promise.all([api.drain(), api.close(), api.close()])
  t.equal(api.inFlight, 0)
})

t.test('a gateway is ready once its registry has responded', async (t) => {
  const pending: ServerResponse[] = []
  let isSilent = true
  const answer = (response: ServerResponse): void => {
    response.setHeader('x-consul-index', '1')
    response.end('{}')
  }
  const address = await startBackend(t, (_, response) => {
    if (isSilent) pending.push(response)
    else answer(response)
  })
  const { api } = await start(t, configure([`--registry=consul://${address}`]))
  const requests = [api.problems(), api.problems(), api.problems()]
  for (const problems of requests) t.same(await problems, ['the registry has not responded yet'])
  t.same(
    await api.problems(),
    ['the registry has not responded yet'],
    'the gateway is still not ready',
  )
  const queries = pending.length
  t.ok(queries > 0, 'the registry was queried')
  isSilent = false
  pending.forEach(answer)
  t.same(await api.problems(), [])
  isSilent = true
  t.same(await api.problems(), [], 'one response is enough')
})

t.test('a hook that never settles times out after reply_timeout', async (t) => {
  const folder = t.testdir({
    'mine.ts': 'export default { onRequest: () => new Promise(() => {}) }',
  })
  const { url } = await start(t, configure(['--reply_timeout=50ms', `--plugin=${folder}/mine.ts`]))
  t.equal((await fetch(url)).status, 504)
})

t.test('logs one warning with the cause when a proxy sends HTTP/1.0 to uws', async (t) => {
  const warnings: Record<string, unknown>[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line)) })
  const configuration = configure(['--listener=uws'])
  const api = await startGatewayServer({ configuration, log })
  t.teardown(api.close)
  warnings.length = 0
  for (let n = 0; n < 2; n++) {
    const client = new RawClient(api.port)
    await client.send('GET / HTTP/1.0\r\nHost: a\r\n\r\n').ended()
    client.destroy()
    t.match(client.text, /^HTTP\/1\.1 505 /)
    await waitUntil(() => warnings.length > 0)
  }
  t.match(warnings, [
    {
      listener: 'uws',
      msg: 'connection closed without a readable request',
      hint: /HTTP\/1\.1 .*proxy_http_version 1\.1/,
    },
  ])
  t.equal(warnings.length, 1)
})

t.test('logs an error with its plugin, request and source line', async (t) => {
  const folder = t.testdir({
    'faulty.ts': `interface Unused {\n  a: 1\n}\nexport default {\n  onRequest(x: Unused & { id: string, query: string }) {\n    x.id = 'id-1'\n    if (x.query === 'onRequest') throw new Error('early')\n  },\n  onDone({ query }: { query: string }) {\n    if (query === 'onDone') throw 'late'\n  },\n}\n`,
  })
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'error' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const configuration = configure([`--plugin=${folder}/faulty.ts`])
  const api = await startGatewayServer({ configuration, log })
  t.teardown(() => api.close())
  const cases = [
    ['onRequest', 500, 'plugin "faulty" threw in onRequest; sent 500'],
    ['onDone', 200, 'plugin "faulty" threw in onDone after the response'],
  ] as const
  for (const [hook, status, msg] of cases) {
    const reply = await fetch(`http://127.0.0.1:${api.port}/?${hook}`)
    await reply.arrayBuffer()
    t.equal(reply.status, status)
    await waitUntil(() => lines.length > 0)
    t.match(lines[0], { msg, plugin: 'faulty', hook, id: 'id-1', method: 'GET', path: '/' })
    t.notMatch(JSON.stringify(lines[0]), `?${hook}`, 'queries may contain tokens')
    const { err, thrown } = lines.pop() as { err?: { stack: string }; thrown?: string }
    if (hook === 'onRequest') t.match(err?.stack, /faulty\.ts:7:\d+/)
    else t.equal(thrown, "'late'")
  }
})

t.test('an authorizer of the process takes precedence over the settings', async (t) => {
  const { authorizer, issue } = await openAuthorizer(t, createRule({ scope: '*' }))
  const configuration = configure(['--backend', `app=${await named(t, 'one')}`])
  const api = await startGatewayServer({ configuration, log: LOG, authorizer })
  t.teardown(api.close)
  const headers = { authorization: `Bearer ${await issue(createAccount())}` }
  const sendRequest = async (init?: RequestInit): Promise<number> =>
    (await fetch(`http://127.0.0.1:${api.port}/app`, init)).status
  t.same([await sendRequest(), await sendRequest({ headers })], [401, 200])
  await api.reload(configuration)
  t.same(
    [await sendRequest(), await sendRequest({ headers })],
    [401, 200],
    'with another configuration',
  )
})
