// Specification, "Gateway, handler-based mode": the handler table, and the selection of a handler.
import { createServer, type RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import type { Service } from '../../core/contracts/registry.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import { createGreeter } from '../fixtures/greeter.ts'
import { openGreeterGateway } from '../fixtures/greeter-gateway.ts'
import { listen } from '../fixtures/listen.ts'
import { startMx } from '../fixtures/mx.ts'
import { getMetadata, openMxService } from '../fixtures/mx-service.ts'
import { openRpcGateway } from '../fixtures/rpc-gateway.ts'
import { connectWebSocket, nextMessage } from '../fixtures/web-gateway.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

async function openBackend(t: Test): Promise<{ address: string; entry: Service }> {
  const describeRequest: RequestListener = async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    response.setHeader('x-kind', 'backend')
    response.end(`${request.method} ${request.url} ${Buffer.concat(chunks)}`)
  }
  const server = createServer((request, response) => void describeRequest(request, response))
  new WebSocketServer({ server }).on('connection', (socket, { url }) => {
    socket.on('message', (data) => socket.send(`${url} ${data}`))
  })
  const port = await listen(t, server)
  const address = `127.0.0.1:${port}`
  const node = { id: address, address, metadata: { protocol: 'http' } }
  const name = 'go.mx.api.site'
  return { address, entry: { name, version: 'latest', metadata: {}, endpoints: [], nodes: [node] } }
}

for (const [name, listener] of Object.entries(LISTENERS)) {
  t.test(
    `${name}: | api | any HTTP request, any content type and body | RPC with api.Request/api.Response (full control of HTTP request and response) | /<service>/<method> | path gives service and method |`,
    async (t) => {
      const service = await openMxService(t, createGreeter(), {
        intercept: (call) => {
          const { method, path, header, body } = JSON.parse(Buffer.from(call.body).toString())
          const text = `${call.service} ${call.endpoint}: ${method} ${path} ${header['Content-Type'].values[0]} ${body}`
          call.reply(
            '',
            JSON.stringify({
              statusCode: 202,
              header: { 'X-One': { key: 'X-One', values: ['1'] } },
              body: text,
            }),
          )
          return true
        },
      })
      const { origin } = await openRpcGateway(t, [service.entry], {
        listener,
        flags: ['--handler=api'],
      })
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const body = method === 'GET' ? {} : { body: '<a/>' }
        const reply = await fetch(`${origin}/greeter/hello`, {
          method,
          headers: { 'content-type': 'text/xml' },
          ...body,
        })
        t.strictSame([reply.status, reply.headers.get('x-one')], [202, '1'])
        t.equal(
          await reply.text(),
          `go.mx.api.greeter Greeter.Hello: ${method} /greeter/hello text/xml ${body.body ?? ''}`,
        )
      }
    },
  )

  t.test(
    `${name}: | rpc | POST with application/json or application/protobuf | json-rpc or proto-rpc according to content type | /<service>/<method> | path gives service and method |`,
    async (t) => {
      const { origin, service } = await openGreeterGateway(t, {
        listener,
        flags: ['--handler=rpc'],
      })
      const json = await fetch(`${origin}/greeter/proto`, {
        method: 'POST',
        headers: JSON_TYPE,
        body: '{"name":"John"}',
      })
      t.strictSame([json.status, json.headers.get('content-type')], [200, 'application/json'])
      t.strictSame(await json.json(), { message: 'Hello John' })
      const type = 'application/protobuf'
      const proto = await fetch(`${origin}/greeter/proto`, {
        method: 'POST',
        headers: { 'content-type': type },
        body: '\n\x04John',
      })
      t.strictSame([proto.status, proto.headers.get('content-type')], [200, type])
      t.equal(await proto.text(), '\n\nHello John')
      const [first, second] = service.calls
      t.strictSame([first?.endpoint, second?.endpoint], ['Greeter.Proto', 'Greeter.Proto'])
      t.strictSame(
        [getMetadata(first!, 'content-type'), first?.body],
        [['application/json'], '{"name":"John"}'],
      )
      t.strictSame([getMetadata(second!, 'content-type'), second?.body], [[type], '\n\x04John'])
    },
  )

  t.test(
    `${name}: | proxy | any HTTP request | HTTP reverse proxy | /<service> | path gives service name |`,
    async (t) => {
      const { entry } = await openBackend(t)
      const { origin } = await openRpcGateway(t, [entry], { listener, flags: ['--handler=proxy'] })
      for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
        const body = method === 'GET' ? {} : { body: 'text' }
        const reply = await fetch(`${origin}/site/a?b=c`, { method, ...body })
        t.equal(reply.headers.get('x-kind'), 'backend')
        t.equal(await reply.text(), `${method} /site/a?b=c ${body.body ?? ''}`)
      }
      t.equal(await (await fetch(`${origin}/site`)).text(), 'GET /site ')
    },
  )

  t.test(
    `${name}: | event | any HTTP request | message on the message bus as proto.Event | /<topic>/<event> | path gives topic and event name |`,
    async (t) => {
      const { origin, broker } = await openRpcGateway(t, [], {
        listener,
        flags: ['--handler=event'],
      })
      for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
        const message = new Promise<Record<string, unknown>>((resolve) => {
          void broker.subscribe('go.mx.api.orders', ({ body }) =>
            resolve(JSON.parse(Buffer.from(body).toString())),
          )
        })
        const body = method === 'GET' ? {} : { body: 'any data' }
        const reply = await fetch(`${origin}/orders/created?a=1`, { method, ...body })
        t.equal(reply.status, 200)
        const { id } = (await reply.json()) as { id: string }
        t.match(await message, {
          id,
          name: 'created',
          data: method === 'GET' ? '{"a":["1"]}' : 'any data',
        })
      }
    },
  )

  t.test(
    `${name}: | web | any HTTP request | HTTP reverse proxy including web sockets | /<service> | path gives service name |`,
    async (t) => {
      const { entry } = await openBackend(t)
      const { origin, port } = await openRpcGateway(t, [entry], {
        listener,
        flags: ['--handler=web'],
      })
      t.equal(
        await (await fetch(`${origin}/site/a`, { method: 'POST', body: 'x' })).text(),
        'POST /site/a x',
      )
      const socket = await connectWebSocket(t, port, [], { path: '/site/socket' })
      const answer = nextMessage(socket)
      socket.send('hi')
      t.equal(await answer, '/site/socket hi')
    },
  )

  t.test(
    `${name}: Paths: /<service>/<method> (dynamically mapped) and /rpc (explicit call).`,
    async (t) => {
      const { origin } = await openGreeterGateway(t, { listener })
      const mapped = await fetch(`${origin}/greeter/hello`, {
        method: 'POST',
        headers: JSON_TYPE,
        body: '{"name":"John"}',
      })
      t.strictSame(await mapped.json(), { message: 'Hello John' })
      const body = JSON.stringify({
        service: 'go.mx.api.greeter',
        method: 'Greeter.Hello',
        request: { name: 'John' },
      })
      const explicit = await fetch(`${origin}/rpc`, { method: 'POST', headers: JSON_TYPE, body })
      t.strictSame(await explicit.json(), { message: 'Hello John' })
    },
  )

  t.test(
    `${name}: The default handler uses endpoint metadata from the registry to find routes; if no route matches it falls back to the rpc handler.`,
    async (t) => {
      const { entry, calls } = await openMxService(t, createGreeter())
      const route = { path: '/people/{name}/greeting', method: 'GET', handler: 'rpc' }
      const endpoints = entry.endpoints.map((endpoint) =>
        endpoint.name === 'Greeter.Hello'
          ? { ...endpoint, metadata: { ...endpoint.metadata, ...route } }
          : endpoint,
      )
      const { origin } = await openRpcGateway(t, [{ ...entry, endpoints }], { listener })
      t.strictSame(await (await fetch(`${origin}/people/John/greeting`)).json(), {
        message: 'Hello John',
      })
      t.strictSame(await (await fetch(`${origin}/greeter/hello?name=Jane`)).json(), {
        message: 'Hello Jane',
      })
      t.strictSame(
        calls.map(({ endpoint }) => endpoint),
        ['Greeter.Hello', 'Greeter.Hello'],
      )
    },
  )
}

t.test('The handler is chosen by flag --handler=<name> or MX_API_HANDLER=<name>.', async (t) => {
  const [backend, service] = await Promise.all([openBackend(t), openMxService(t, createGreeter())])
  const cwd = t.testdir({})
  const args = [
    'api',
    '--address=127.0.0.1:0',
    '--access_log=off',
    `--backend=site=${backend.address}`,
    `--backend=${service.backend}`,
  ]
  /** Responses that distinguish the handlers. */
  const sendRequest = async (flags: string[], env: Record<string, string>): Promise<unknown[]> => {
    const mx = startMx([...args, ...flags], { cwd, env })
    t.teardown(() => mx.child.kill('SIGKILL'))
    const url = await mx.url()
    const site = await fetch(`${url}/site/hello`)
    const greeter = await fetch(`${url}/greeter/hello?name=x`)
    const responses = [site.status, await site.text(), greeter.status, await greeter.text()]
    mx.child.kill('SIGTERM')
    t.equal(await mx.ended, 0)
    return responses
  }
  const proxyResult = [200, 'GET /site/hello ', 404]
  const rpcResult = [200, '{"message":"Hello x"}']
  t.strictSame((await sendRequest(['--handler=proxy'], {})).slice(0, 3), proxyResult)
  t.strictSame((await sendRequest([], { MX_API_HANDLER: 'proxy' })).slice(0, 3), proxyResult)
  t.strictSame((await sendRequest([], { MX_HANDLER: 'proxy' })).slice(0, 3), proxyResult)
  t.strictSame(
    (await sendRequest(['--handler=rpc'], { MX_API_HANDLER: 'proxy' })).slice(2),
    rpcResult,
  )
  t.strictSame((await sendRequest([], {})).slice(2), rpcResult, 'the default handler')
})
