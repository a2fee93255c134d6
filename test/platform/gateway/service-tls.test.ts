// `tls:` of services against real servers, over each protocol to backends.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerOptions } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import * as grpc from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { createAuthority } from '../../fixtures/client-authority.ts'
import { openConfiguredGateway } from '../../fixtures/configured-gateway.ts'
import { GrpcClient, openGrpcBackend } from '../../fixtures/grpc.ts'
import { listen } from '../../fixtures/listen.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const servers = createAuthority('servers')
const clients = createAuthority('clients')
const server = servers.issue('shop.internal')
const client = clients.issue('gateway')

/** Responds with the names of the client certificate and of SNI; WebSockets receive the name in the certificate. */
async function openBackend(t: Test, options: ServerOptions) {
  const sockets: TLSSocket[] = []
  const describe = (socket: TLSSocket): string => {
    const { subject } = socket.getPeerCertificate()
    return `${subject?.CN ?? 'none'} ${socket.servername || 'none'}`
  }
  const backend = createServer(options, ({ socket }, response) =>
    response.end(describe(socket as TLSSocket)),
  )
  backend.on('secureConnection', (socket) => sockets.push(socket))
  const accept = new WebSocketServer({ noServer: true })
  backend.on('upgrade', (request, socket, head) =>
    accept.handleUpgrade(request, socket, head, (ws) => ws.send(describe(socket as TLSSocket))),
  )
  return { sockets, node: `https://127.0.0.1:${await listen(t, backend)}` }
}

/** First message of a WebSocket, or the error of its handshake. */
async function receive(t: Test, port: number, path: string): Promise<string> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`)
  t.teardown(() => socket.terminate())
  return new Promise((resolve) => {
    socket.on('message', (data) => resolve(String(data)))
    socket.on('error', (error) => resolve(error.message))
  })
}

function makeFolder(t: Test): string {
  const folder = makeTempFolder(t, 'service-tls')
  const files = { 'ca.pem': servers.cert, 'client.pem': client.cert, 'client.key': client.key }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

const MUTUAL = { ...server, ca: clients.cert, requestCert: true, rejectUnauthorized: true }
const TLS = '{ ca: ca.pem, cert: client.pem, key: client.key, server_name: shop.internal }'

for (const listener of ['uws', 'node'])
  t.test(`${listener}: a private authority, a client certificate and a server name`, async (t) => {
    const { node } = await openBackend(t, MUTUAL)
    const { send, gateway } = await openConfiguredGateway(
      t,
      `
services:
  shop: { nodes: [${node}], tls: ${TLS} }
  plain: ${node}
  anonymous: { nodes: [${node}], tls: { ca: ca.pem, server_name: shop.internal } }
  misnamed: { nodes: [${node}], tls: { ca: ca.pem, server_name: other.internal } }
  insecure: { nodes: [${node}], tls: { cert: client.pem, key: client.key, insecure_skip_verify: true } }
`,
      { listener, handler: 'web', folder: makeFolder(t) },
    )
    const rows: [service: string, status: number, text: RegExp][] = [
      ['shop', 200, /^gateway shop\.internal$/],
      ['plain', 502, /the certificate of the backend is not trusted/],
      ['anonymous', 502, /the backend requires a client certificate/],
      ['misnamed', 502, /the certificate of the backend is not trusted/],
      ['insecure', 200, /^gateway none$/],
    ]
    for (const [service, status, text] of rows) {
      const reply = await send('GET', `/${service}/`)
      t.equal(reply.status, status, service)
      t.match(reply.text, text, service)
    }
    t.equal(await receive(t, gateway.port, '/shop/'), 'gateway shop.internal')
    t.equal(await receive(t, gateway.port, '/insecure/'), 'gateway none')
    for (const service of ['plain', 'anonymous', 'misnamed'])
      t.match(await receive(t, gateway.port, `/${service}/`), /502/, service)
  })

t.test('gRPC nodes also use the settings', async (t) => {
  const credentials = grpc.ServerCredentials.createSsl(
    Buffer.from(clients.cert),
    [{ cert_chain: Buffer.from(server.cert), private_key: Buffer.from(server.key) }],
    true,
  )
  const backend = await openGrpcBackend(t, { credentials })
  const { gateway, reload } = await openConfiguredGateway(t, yaml(TLS), {
    listener: 'node',
    folder: makeFolder(t),
  })
  function yaml(tls: string): string {
    return `
http2: cleartext
services: { greeter: { nodes: ["grpcs://127.0.0.1:${backend.port}"], tls: ${tls} } }
routes: [{ match: { path: /helloworld.Greeter/** }, service: greeter }]
`
  }
  const caller = new GrpcClient(t, gateway.port)
  t.equal((await caller.call('SayHello', 'Ann')).message, 'Hello Ann')
  await reload(yaml('{ ca: ca.pem, server_name: other.internal }'))
  const { status } = await caller.call('SayHello', 'Ann')
  t.match(status.details, /the certificate of the backend is not trusted/)
  await reload(yaml('{ cert: client.pem, key: client.key, insecure_skip_verify: true }'))
  t.equal((await caller.call('SayHello', 'Ann')).message, 'Hello Ann')
})

t.test('a reload uses rotated files for new connections, and closes existing ones', async (t) => {
  const { node, sockets } = await openBackend(t, MUTUAL)
  const folder = makeFolder(t)
  const { send, reload } = await openConfiguredGateway(
    t,
    `services: { shop: { nodes: [${node}], keep_alive: 60s, tls: ${TLS} } }`,
    { folder },
  )
  t.equal((await send('GET', '/shop/')).text, 'gateway shop.internal')
  await reload()
  t.equal((await send('GET', '/shop/')).text, 'gateway shop.internal')
  t.equal(sockets.length, 1, 'unchanged files: the connection stays in use')

  const rotated = clients.issue('rotated')
  writeFileSync(join(folder, 'client.pem'), rotated.cert)
  await t.rejects(
    reload(),
    /mx\.yaml:1:\d+: .*key .*client\.key does not belong to certificate .*client\.pem/,
  )
  t.equal(
    (await send('GET', '/shop/')).text,
    'gateway shop.internal',
    'rejected: nothing has changed',
  )
  writeFileSync(join(folder, 'client.key'), rotated.key)
  const closed = once(sockets[0]!, 'close')
  await reload()
  await closed
  t.equal((await send('GET', '/shop/')).text, 'rotated shop.internal')
  t.equal(sockets.length, 2)
})

t.test('requests in flight survive a change of the settings', async (t) => {
  let finish = (): void => {}
  const backend = createServer(server, (_, response) => {
    response.write('begin ')
    finish = () => void response.end('end')
  })
  const port = await listen(t, backend)
  const node = `https://127.0.0.1:${port}`
  const { send, reload } = await openConfiguredGateway(
    t,
    `services: { shop: { nodes: [${node}], tls: { ca: ca.pem, server_name: shop.internal } } }`,
    { folder: makeFolder(t) },
  )
  const reply = send('GET', '/shop/')
  await once(backend, 'request')
  await reload(`services: { shop: { nodes: [${node}] } }`)
  t.match((await send('GET', '/shop/')).text, /is not trusted/)
  finish()
  t.equal((await reply).text, 'begin end')
})
