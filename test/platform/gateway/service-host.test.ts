// `host:` of services over each protocol to backends.
import { once } from 'node:events'
import { createServer } from 'node:http'
import {
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { openConfiguredGateway } from '../../fixtures/configured-gateway.ts'
import { GrpcClient } from '../../fixtures/grpc.ts'
import { listen } from '../../fixtures/listen.ts'

/** Responds with the received `Host` and `X-Forwarded-Host`. */
function openBackend(t: Test): Promise<number> {
  const backend = createServer(({ headers }, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(`${headers.host} ${headers['x-forwarded-host']}`))
  })
  const accept = new WebSocketServer({ server: backend })
  accept.on('connection', (socket, { headers }) => socket.send(String(headers.host)))
  return listen(t, backend)
}

for (const listener of ['uws', 'node'])
  t.test(`${listener}: Host comes from the client or the backend, or is a constant`, async (t) => {
    const port = await openBackend(t)
    const free = await openBackend(t)
    const node = `127.0.0.1:${port}`
    const text = (host: string) => `
services:
  default: ${node}
  client: { nodes: [${node}], host: client }
  changed: { nodes: [${node}], host: ${host} }
  named: { nodes: [${node}], host: "shop.internal:8080" }
  repeated: { nodes: ["127.0.0.1:1", "localhost:1", ${node}], host: backend }
  called: { nodes: [${node}], host: shop.internal }
routes:
  - { match: { path: /call }, service: called, handler: rpc, endpoint: Greeter.Hello }
`
    const { send, gateway, reload } = await openConfiguredGateway(t, text('backend'), {
      listener,
      handler: 'web',
    })
    const getHost = async (service: string): Promise<string> =>
      (await send('GET', `/${service}/`, { host: 'public.example' })).text
    t.equal(await getHost('default'), '"public.example public.example"')
    t.equal(await getHost('client'), '"public.example public.example"')
    t.equal(await getHost('changed'), `"${node} public.example"`)
    t.equal(await getHost('named'), '"shop.internal:8080 public.example"')
    t.match(await getHost('call'), 'shop.internal ', 'a call over HTTP')
    for (let i = 0; i < 3; i++)
      t.equal(await getHost('repeated'), `"${node} public.example"`, 'after failed attempts')
    for (const [service, host] of [
      ['default', `127.0.0.1:${gateway.port}`],
      ['changed', node],
      ['named', 'shop.internal:8080'],
    ] as const) {
      const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/${service}/`)
      t.teardown(() => socket.terminate())
      const [message] = await once(socket, 'message')
      t.equal(String(message), host, `WebSocket to ${service}`)
    }
    await reload(
      text('other.internal').replace('default: ', `more: 127.0.0.1:${free}\n  default: `),
    )
    t.equal(await getHost('changed'), '"other.internal public.example"', 'after a reload')
  })

t.test('sets the authority of gRPC calls', async (t) => {
  const backend = createHttp2Server()
  await listen(t, backend)
  backend.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const status = { 'grpc-status': '5', 'grpc-message': headers[':authority'] }
    stream.respond({ 'content-type': 'application/grpc', ...status }, { endStream: true })
  })
  const { port } = backend.address() as AddressInfo
  const { gateway } = await openConfiguredGateway(
    t,
    `
http2: cleartext
services: { greeter: { nodes: ["grpc://127.0.0.1:${port}"], host: greeter.internal } }
routes: [{ match: { path: /helloworld.Greeter/** }, service: greeter }]
`,
    { listener: 'node' },
  )
  const { status } = await new GrpcClient(t, gateway.port).call('SayHello', 'Ann')
  t.equal(status.details, 'greeter.internal')
})
