import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import t from 'tap'
import type { Plugin } from '../../core/chain.ts'
import forwarded from '../../plugins/http/forwarded.ts'
import proxyStatus from '../../plugins/telemetry/proxy-status.ts'
import { buildPlugin } from '../../sdk/testing.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import { createGreeter, createGreeterLog } from '../fixtures/greeter.ts'
import { openGreeterGateway } from '../fixtures/greeter-gateway.ts'
import { getMetadata, type MxService, openMxService } from '../fixtures/mx-service.ts'
import { openRawBackend, waitUntil } from '../fixtures/raw-backend.ts'
import { openRpcGateway, type RpcGateway } from '../fixtures/rpc-gateway.ts'

const NAME = 'go.mx.api.greeter'
const FORM = 'application/x-www-form-urlencoded'
const HELLO = { service: NAME, method: 'Greeter.Hello', request: { name: 'John' } }

async function post({ origin }: RpcGateway, body: unknown, headers: Record<string, string> = {}) {
  const isText = typeof body === 'string' || body instanceof FormData
  const reply = await fetch(`${origin}/rpc`, {
    method: 'POST',
    body: isText ? body : JSON.stringify(body),
    headers: {
      ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  })
  return {
    status: reply.status,
    headers: reply.headers,
    json: (await reply.json()) as Record<string, unknown>,
  }
}

function toForm(fields: Record<string, string>): string {
  return new URLSearchParams(fields).toString()
}

for (const [name, listener] of Object.entries(LISTENERS)) {
  for (const protocol of ['mx', 'http'] as const) {
    t.test(`${name}, ${protocol}: calls with JSON, form and multipart bodies`, async (t) => {
      const { gateway } = await openGreeterGateway(t, { listener }, { protocol })
      const fields = { service: NAME, method: 'Greeter.Hello', request: '{"name":"Jörg"}' }
      const parts = new FormData()
      for (const [field, value] of Object.entries(fields)) parts.append(field, value)
      const replies = [
        await post(gateway, { ...HELLO, request: { name: 'Jörg' } }),
        await post(gateway, fields),
        await post(gateway, toForm(fields), { 'content-type': FORM }),
        await post(gateway, parts),
        await post(gateway, {
          Service: NAME,
          ENDPOINT: 'Greeter.Hello',
          Request: { name: 'Jörg' },
          other: 1,
        }),
      ]
      for (const { status, headers, json } of replies) {
        t.strictSame([status, json], [200, { message: 'Hello Jörg' }])
        t.equal(headers.get('content-type'), 'application/json')
        t.equal(headers.get('cache-control'), 'no-store')
      }
    })
  }
}

t.test('returns {} for an empty result, and the errors of the service', async (t) => {
  const { gateway } = await openGreeterGateway(
    t,
    {},
    {
      intercept: (call) => {
        if (call.endpoint !== 'Greeter.Nothing') return false
        call.reply('', '')
        return true
      },
    },
  )
  t.strictSame((await post(gateway, { ...HELLO, method: 'Greeter.Nothing' })).json, {})
  const failed = await post(gateway, { ...HELLO, method: 'Greeter.Fail', request: { code: 409 } })
  t.match(failed, { status: 409, json: { Id: 'greeter.own', Code: 409, Detail: 'as requested' } })
  const crashed = await post(gateway, { ...HELLO, method: 'Greeter.Crash' })
  t.match(crashed, { status: 500, json: { Id: NAME, Detail: 'internal error' } })
  const stream = await post(gateway, { ...HELLO, method: 'Greeter.Count', request: { to: 1 } })
  t.match(stream, { status: 400, json: { Detail: /stream: request its path over HTTP/ } })
})

t.test('passes the request through unchanged', async (t) => {
  const { gateway, service } = await openGreeterGateway(t)
  const request = '{ "id": 12345678901234567890, "a" : [1.0] }'
  await post(gateway, `{"service":"${NAME}","method":"Greeter.Echo","request":${request}}`)
  t.equal(service.calls[0]?.body, request)
  t.same(getMetadata(service.calls[0]!, 'content-type'), ['application/json'])
  await post(gateway, toForm({ service: NAME, method: 'Greeter.Echo', request }), {
    'content-type': FORM,
  })
  t.equal(service.calls[1]?.body, request)
  t.same(
    getMetadata(service.calls[1]!, 'content-type'),
    ['application/json'],
    'JSON for any request type',
  )
})

t.test('requires full service names without the namespace of the gateway', async (t) => {
  const { gateway } = await openGreeterGateway(t, {}, { name: 'backend.greeter' })
  t.equal((await post(gateway, { ...HELLO, service: 'backend.greeter' })).status, 200)
  t.match(await post(gateway, { ...HELLO, service: 'greeter' }), {
    status: 404,
    json: {
      Id: 'greeter',
      Detail: 'service not found: greeter; /rpc requires the full name, such as go.mx.api.greeter',
    },
  })
})

t.test('rejects invalid calls with 400, 404, 405, 413 or 415', async (t) => {
  const { gateway, service } = await openGreeterGateway(t)
  const rows: [unknown, number, string, RegExp][] = [
    [{ ...HELLO, service: undefined }, 400, 'go.mx.rpc', /^service must be/],
    [{ ...HELLO, service: '' }, 400, 'go.mx.rpc', /^service must be/],
    [{ ...HELLO, service: 'a b' }, 400, 'go.mx.rpc', /^service must be/],
    [{ ...HELLO, service: '../x' }, 400, 'go.mx.rpc', /^service must be/],
    [{ ...HELLO, service: 5 }, 400, 'go.mx.rpc', /^service must be a string/],
    [{ ...HELLO, service: [NAME] }, 400, 'go.mx.rpc', /^service must be a string/],
    [{ ...HELLO, method: undefined }, 400, 'go.mx.rpc', /^method must be <Handler>\.<Method>/],
    [{ ...HELLO, method: 'Hello' }, 400, 'go.mx.rpc', /^method must be/],
    [{ ...HELLO, method: 'Greeter.Hello.Again' }, 400, 'go.mx.rpc', /^method must be/],
    [{ ...HELLO, method: 'Greeter.\r\nx' }, 400, 'go.mx.rpc', /^method must be/],
    [{ ...HELLO, request: undefined }, 400, 'go.mx.rpc', /^request must be a JSON object/],
    [{ ...HELLO, request: null }, 400, 'go.mx.rpc', /^request must be a JSON object/],
    [{ ...HELLO, request: [1] }, 400, 'go.mx.rpc', /^request must be a JSON object/],
    [{ ...HELLO, request: 5 }, 400, 'go.mx.rpc', /^request must be a JSON object/],
    [{ ...HELLO, request: '[1]' }, 400, 'go.mx.rpc', /^request must be a JSON object/],
    [{ ...HELLO, request: '{"a":' }, 400, 'go.mx.rpc', /^request must be JSON/],
    [{ ...HELLO, request: '{"__proto__":{}}' }, 400, 'go.mx.rpc', /__proto__/],
    [{ ...HELLO, SERVICE: 'other' }, 400, 'go.mx.rpc', /^service must be set once/],
    [{ ...HELLO, address: 5 }, 400, 'go.mx.rpc', /^address must be a string/],
    ['{"service":', 400, 'go.mx.rpc', /JSON/],
    ['[]', 400, 'go.mx.rpc', /must be a JSON object/],
    ['"x"', 400, 'go.mx.rpc', /must be a JSON object/],
    ['', 400, 'go.mx.rpc', /JSON/],
    ['['.repeat(100_000), 400, 'go.mx.rpc', /nest/],
    [`{"service":"${NAME}","__proto__":{}}`, 400, 'go.mx.rpc', /__proto__/],
    [{ ...HELLO, service: 'go.mx.api.missing' }, 404, 'go.mx.api.missing', /^service not found/],
    [{ ...HELLO, method: 'Greeter.None' }, 404, NAME, /^endpoint not found/],
    [{ ...HELLO, method: 'Greeter.None', request: undefined }, 404, NAME, /^endpoint not found/],
    [
      { ...HELLO, adress: '127.0.0.1:1' },
      400,
      'go.mx.rpc',
      /^unknown field "adress", did you mean address\?$/,
    ],
    [
      { ...HELLO, requst: {} },
      400,
      'go.mx.rpc',
      /^unknown field "requst", did you mean request\?$/,
    ],
    [{ ...HELLO, method: 'Debug.Stats' }, 404, NAME, /^endpoint not found/],
  ]
  for (const [body, code, id, detail] of rows) {
    const { status, json } = await post(gateway, body)
    t.equal(status, code, JSON.stringify(body)?.slice(0, 100))
    t.match(json, { Id: id, Code: code, Detail: detail })
  }
  t.same(service.calls, [])
  t.equal((await post(gateway, { ...HELLO, method: 'Debug.Health' })).status, 200)
})

t.test('rejects invalid forms', async (t) => {
  const { gateway, service } = await openGreeterGateway(t)
  const fields = { service: NAME, method: 'Greeter.Hello', request: '{"name":"x"}' }
  const rows: [string, RegExp][] = [
    [toForm({ ...fields, request: '' }), /^request must be/],
    [toForm({ ...fields, request: 'name=x' }), /^request must be JSON/],
    [`${toForm(fields)}&service=other`, /^service must be set once/],
    [toForm({ ...fields, service: '' }), /^service must be/],
    [JSON.stringify(HELLO), /application\/json/],
    [`${toForm(fields)}&a=%ff`, /percent-encoded/],
  ]
  for (const [body, detail] of rows) {
    const { status, json } = await post(gateway, body, { 'content-type': FORM })
    t.equal(status, 400, body)
    t.match(json['Detail'], detail)
  }
  const file = new FormData()
  for (const [field, value] of Object.entries(fields)) file.append(field, value)
  file.set('request', new Blob(['{"name":"x"}']), 'request.json')
  t.match(await post(gateway, file), { status: 400, json: { Detail: /^request must be a string/ } })
  for (const type of ['text/plain', 'application/protobuf', 'application/xml']) {
    const { status, headers } = await post(gateway, '{}', { 'content-type': type })
    t.equal(status, 415, type)
    t.match(headers.get('accept'), /application\/json/)
  }
  t.same(service.calls, [])
})

t.test('returns 405 for methods other than POST, and Allow for OPTIONS', async (t) => {
  const { gateway } = await openGreeterGateway(t)
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
    const reply = await fetch(`${gateway.origin}/rpc?service=${NAME}`, { method })
    t.equal(reply.status, 405, method)
    t.equal(reply.headers.get('allow'), 'POST, OPTIONS')
    if (method !== 'HEAD')
      t.match(await reply.json(), { Id: 'go.mx.rpc', Status: 'Method Not Allowed' })
  }
  const options = await fetch(`${gateway.origin}/rpc`, { method: 'OPTIONS' })
  t.strictSame([options.status, options.headers.get('allow')], [204, 'POST, OPTIONS'])
})

t.test('returns 413 for a body above the limit', async (t) => {
  const { gateway } = await openGreeterGateway(t)
  const { status, json } = await post(gateway, {
    ...HELLO,
    request: { pad: 'x'.repeat(17_000_000) },
  })
  t.equal(status, 413)
  t.match(json, { Code: 413, Status: 'Payload Too Large' })
})

t.test('passes context and deadline of the request to the call', async (t) => {
  const log = createGreeterLog()
  const service = await openMxService(t, createGreeter(log))
  const gateway = await openRpcGateway(t, [service.entry])
  const headers = { 'x-one': '1', 'mx-namespace': 'staging', timeout: '0.2' }
  const { status } = await post(gateway, { ...HELLO, method: 'Greeter.Wait' }, headers)
  t.equal(status, 408)
  await waitUntil(() => log.aborted.length === 1)
  const [call] = service.calls
  t.same(getMetadata(call!, 'x-one'), ['1'])
  t.same(getMetadata(call!, 'mx-namespace'), ['staging'])
  t.same(getMetadata(call!, 'url'), ['/rpc'])
  t.ok(call!.timeoutMs > 0 && call!.timeoutMs <= 200)
  t.equal((await post(gateway, HELLO, { timeout: 'x' })).status, 400)
})

t.test('address selects a registered node by address or id', async (t) => {
  const nodes = await Promise.all([0, 1, 2].map(() => openMxService(t, createGreeter())))
  const entries = nodes.map(({ entry }, i) => ({
    ...entry,
    nodes: entry.nodes.map((node) => ({ ...node, id: `greeter-${i}` })),
  }))
  const gateway = await openRpcGateway(t, entries, { flags: ['--rpc_address_allow=10.0.0.0/8'] })
  for (let i = 0; i < 3; i++) {
    for (const address of [`127.0.0.1:${nodes[1]!.port}`, 'greeter-1'])
      t.equal((await post(gateway, { ...HELLO, address })).status, 200)
  }
  t.same(
    nodes.map(({ calls }) => calls.length),
    [0, 6, 0],
  )
  await nodes[1]!.kill()
  const unreachable = await post(gateway, { ...HELLO, address: 'greeter-1' })
  t.equal(unreachable.status, 502, 'no retry on another node')
  t.same([nodes[0]!.calls, nodes[2]!.calls], [[], []])
})

t.test('address may be inside the allowed ranges, registered or not', async (t) => {
  const { gateway, service } = await openGreeterGateway(t)
  const other = await openMxService(t, createGreeter())
  const unregistered = await openMxService(t, createGreeter(), { name: 'backend.stranger' })
  for (const host of ['127.0.0.1', 'localhost']) {
    t.equal((await post(gateway, { ...HELLO, address: `${host}:${other.port}` })).status, 200)
    const unknown = {
      ...HELLO,
      service: 'backend.stranger',
      address: `${host}:${unregistered.port}`,
    }
    t.equal((await post(gateway, unknown)).status, 200)
  }
  t.same([service.calls.length, other.calls.length, unregistered.calls.length], [0, 2, 2])
  // The connection is persistent, so no new one is opened per call.
  t.equal(other.connections.length, 2, 'one per notation of the host')
  const invalid = await post(gateway, {
    ...HELLO,
    service: 'other.name',
    address: `127.0.0.1:${unregistered.port}`,
  })
  t.match(invalid, { status: 404, json: { Detail: 'service not found: other.name' } })
})

t.test('accepts the schemes mx:// and mxs:// only', async (t) => {
  const { gateway, service } = await openGreeterGateway(t)
  const other = await openMxService(t, createGreeter())
  for (const port of [service.port, other.port])
    t.equal((await post(gateway, { ...HELLO, address: `mx://127.0.0.1:${port}` })).status, 200)
  t.same([service.calls.length, other.calls.length], [1, 1])
  const plain = await openRawBackend(t)
  for (const scheme of ['http', 'https', 'grpc', 'ws'])
    t.equal(
      (await post(gateway, { ...HELLO, address: `${scheme}://127.0.0.1:${plain.port}` })).status,
      403,
    )
  t.same(plain.connections, [])
  const tls = await post(gateway, { ...HELLO, address: `mxs://127.0.0.1:${other.port}` })
  t.equal(tls.status, 502, 'the node does not support TLS')
})

t.test('addresses of the gateway machine require a client on that machine', async (t) => {
  const setClientAddress: Plugin = {
    name: 'test-stranger',
    onRequest: (x) => {
      x.clientAddress = x.headers.get('x-from') ?? x.clientAddress
    },
  }
  const { gateway, service } = await openGreeterGateway(t, { plugins: [setClientAddress] })
  const other = await openMxService(t, createGreeter())
  const sendRequest = async (port: number, from: string): Promise<number> => {
    const body = JSON.stringify({ ...HELLO, address: `127.0.0.1:${port}` })
    const headers = { 'content-type': 'application/json', 'x-from': from }
    return (await fetch(`${gateway.origin}/rpc`, { method: 'POST', headers, body })).status
  }
  t.equal(await sendRequest(other.port, '192.0.2.1'), 403)
  t.same(other.calls, [])
  t.equal(await sendRequest(other.port, '::1'), 200)
  t.equal(await sendRequest(service.port, '192.0.2.1'), 200, 'registered nodes are allowed')
})

t.test('requests through a local proxy are not local', async (t) => {
  const service = await openMxService(t, createGreeter())
  const address = `127.0.0.1:${service.port}`
  const sendRequest = async (
    { port }: RpcGateway,
    host: string,
    fields: Record<string, string> = {},
  ): Promise<number | undefined> => {
    const headers = { host, 'content-type': 'application/json', ...fields }
    const sent = request({ port, path: '/rpc', method: 'POST', headers, agent: false })
    sent.end(JSON.stringify({ ...HELLO, address }))
    const [reply] = (await once(sent, 'response')) as [IncomingMessage]
    reply.resume()
    return reply.statusCode
  }
  const { gateway } = await openGreeterGateway(t, { plugins: [buildPlugin(forwarded)] })
  const registered = await openGreeterGateway(t, {
    plugins: [buildPlugin(forwarded, { trusted: ['loopback'], optional: true })],
  })

  for (const host of ['localhost', 'localhost:8080', 'a.localhost.', '127.0.0.1', '[::1]:8080'])
    t.equal(await sendRequest(gateway, host), 200, host)
  for (const host of ['shop.example', 'localhost.example', '192.0.2.1:80'])
    t.equal(await sendRequest(gateway, host), 403, `${host}, forwarded unchanged by the proxy`)
  for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])
    t.equal(await sendRequest(gateway, 'localhost', { [name]: '127.0.0.1' }), 403, name)

  const rows: [Record<string, string>, number][] = [
    [{ 'x-forwarded-for': '192.0.2.1' }, 403],
    [{ 'x-forwarded-for': '127.0.0.1, 192.0.2.1' }, 403],
    [{ 'x-forwarded-for': 'unknown, 127.0.0.1' }, 403],
    [{ 'x-forwarded-proto': 'https' }, 403],
    [{ via: '1.1 front' }, 403],
    [{ 'x-forwarded-for': '127.0.0.1' }, 200],
    [{ via: '1.1 front', 'x-forwarded-for': '::1, 127.0.0.1' }, 200],
  ]
  for (const [fields, status] of rows)
    t.equal(
      await sendRequest(registered.gateway, 'localhost', fields),
      status,
      JSON.stringify(fields),
    )
})

t.test('returns 403 for other addresses without connecting', async (t) => {
  const backend = await openRawBackend(t)
  const { gateway } = await openGreeterGateway(t, { flags: ['--rpc_address_allow=10.0.0.0/8'] })
  const addresses = [
    `127.0.0.1:${backend.port}`,
    `localhost:${backend.port}`,
    `[::1]:${backend.port}`,
    `[::ffff:127.0.0.1]:${backend.port}`,
    `0.0.0.0:${backend.port}`,
    `127.1:${backend.port}`,
    `2130706433:${backend.port}`,
    '192.0.2.1:80',
    'internal.test:80',
    'http://127.0.0.1:80',
    '10.0.0.1',
    '10.0.0.1:0',
    '10.0.0.1:99999',
    '10.0.0.1:80@127.0.0.1',
    'unix:/run/x.sock',
    'x'.repeat(10_000),
  ]
  for (const address of addresses) {
    const { status, json } = await post(gateway, { ...HELLO, address })
    t.equal(status, 403, address.slice(0, 50))
    t.match(json, {
      Id: 'go.mx.rpc',
      Code: 403,
      Status: 'Forbidden',
      Detail: /is not a node of go\.mx\.api\.greeter/,
    })
    t.ok(String(json['Detail']).length < 300)
  }
  t.same(backend.connections, [])
})

t.test(
  'only operators see connection errors of unregistered addresses (port probing)',
  async (t) => {
    const greets = createServer((socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'))
    const plain = createHttpServer((_request, reply) => void reply.writeHead(404).end())
    const closed = createServer()
    for (const server of [greets, plain, closed])
      await once(server.listen(0, '127.0.0.1'), 'listening')
    const toAddress = (server: Server) => `127.0.0.1:${(server.address() as AddressInfo).port}`
    const addresses = [greets, plain, closed].map(toAddress)
    await new Promise((resolve) => closed.close(resolve))
    t.teardown(() => [greets, plain].map((server) => server.close()))

    const operator = { id: 'admin', name: '', type: 'user', issuer: 'mx', metadata: {} } as const
    const identify: Plugin = {
      name: 'test-identify',
      onRequest(x) {
        const scope = x.headers.get('x-scope')
        if (scope !== undefined)
          x.session = {
            id: 's',
            account: { ...operator, scopes: [scope] },
            issuedMs: 0,
            endsMs: Number.MAX_VALUE,
          }
      },
    }
    const status = await buildPlugin(proxyStatus, {})
    const { gateway } = await openGreeterGateway(t, { plugins: [identify, status] })
    const sendRequest = async (headers: Record<string, string>) => {
      const replies = addresses.map((address) => post(gateway, { ...HELLO, address }, headers))
      return (await Promise.all(replies)).map(({ status, json, headers }) =>
        JSON.stringify([status, json, headers.get('proxy-status')]),
      )
    }
    for (const headers of [{}, { 'x-scope': 'user' }] as Record<string, string>[]) {
      const events = await sendRequest(headers)
      t.equal(new Set(events).size, 1, events.join('\n'))
      t.match(events[0], /502.*cannot connect to the service/)
    }
    t.match(await sendRequest({ 'x-scope': 'admin' }), [
      /does not speak the call protocol/,
      /does not speak the call protocol/,
      /refused the connection/,
    ])
  },
)

t.test('outside the allowed ranges, only registered nodes are allowed', async (t) => {
  const { gateway, service } = await openGreeterGateway(t, {
    flags: ['--rpc_address_allow=192.0.2.0/24'],
  })
  const other = await openMxService(t, createGreeter())
  t.equal((await post(gateway, { ...HELLO, address: `127.0.0.1:${service.port}` })).status, 200)
  t.equal((await post(gateway, { ...HELLO, address: `127.0.0.1:${other.port}` })).status, 403)
  t.same(other.calls, [])
})

t.test('limits the number of open unregistered nodes', async (t) => {
  const { gateway } = await openGreeterGateway(t)
  const services: MxService[] = []
  for (let i = 0; i < 70; i++) services.push(await openMxService(t, createGreeter()))
  for (const { port } of services)
    t.equal((await post(gateway, { ...HELLO, address: `127.0.0.1:${port}` })).status, 200)
  const open70 = (): number => services.filter(({ connections }) => !connections[0]!.closed).length
  await waitUntil(() => open70() === 64)
  t.equal(
    (await post(gateway, { ...HELLO, address: `127.0.0.1:${services[0]!.port}` })).status,
    200,
  )
})

for (const handler of ['meta', 'rpc', 'api', 'proxy', 'event', 'web']) {
  t.test(`serves /rpc with the ${handler} handler`, async (t) => {
    const { gateway } = await openGreeterGateway(t, { flags: [`--handler=${handler}`] })
    t.strictSame((await post(gateway, HELLO)).json, { message: 'Hello John' })
  })
}
