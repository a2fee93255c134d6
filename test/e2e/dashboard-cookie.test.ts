// No response of a service sets the cookie of the dashboard over any protocol; other cookies are forwarded.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { listen } from '../fixtures/listen.ts'
import { createService } from '../fixtures/sdk-services.ts'
import { openServer } from '../fixtures/server.ts'
import { rejectedWebSocket } from '../fixtures/web-gateway.ts'

/** A gRPC frame. */
const NO_MESSAGE = new Uint8Array(5)
const COOKIES = ['mx-dashboard=a; Path=/', 'own=1', '__Host-mx-dashboard=a; Secure; Path=/']

/** A backend that sets cookies with every response, including handshakes; handshakes at `/site/closed` are rejected. */
async function openSite(t: Test, sentCookies: (string | undefined)[]): Promise<string> {
  const server = createServer(({ headers, url = '' }, reply) => {
    sentCookies.push(headers.cookie)
    reply.setHeader('set-cookie', COOKIES)
    reply.write('a')
    // Responses arrive in one chunk or in several.
    if (url.endsWith('/stream')) setImmediate(() => reply.end('b'))
    else reply.end()
  })
  const sockets = new WebSocketServer({ noServer: true })
  sockets.on('headers', (lines) => {
    for (const cookie of COOKIES) lines.push(`Set-Cookie: ${cookie}`)
  })
  server.on('upgrade', (request, socket, head) => {
    sentCookies.push(request.headers.cookie)
    if (request.url !== '/site/closed')
      return sockets.handleUpgrade(request, socket, head, (open) => open.on('error', () => {}))
    const lines = COOKIES.map((cookie) => `Set-Cookie: ${cookie}\r\n`).join('')
    socket.end(`HTTP/1.1 403 Forbidden\r\n${lines}Content-Length: 0\r\nConnection: close\r\n\r\n`)
  })
  return `127.0.0.1:${await listen(t, server)}`
}

/** A gRPC backend that sets cookies with every response. */
async function openGrpcSite(t: Test): Promise<string> {
  const server = createHttp2Server()
  server.on('stream', (stream) => {
    const fields = { 'content-type': 'application/grpc', 'set-cookie': COOKIES }
    stream.respond(fields, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(NO_MESSAGE)
  })
  return `127.0.0.1:${await listen(t, server)}`
}

for (const listener of ['uws', 'node'])
  t.test(`${listener}: services neither set nor receive the cookie of the dashboard`, async (t) => {
    const { post, url, server } = await openServer(t, [
      `--listener=${listener}`,
      ...(listener === 'node' ? ['--http2=cleartext'] : []),
    ])
    const { port } = server.address
    const sentCookies: (string | undefined)[] = []
    const site = await openSite(t, sentCookies)
    const register = (name: string, handler: string, node: object, endpoints: object[] = []) =>
      post('/registry/register', {
        ...{ name, version: 'latest', metadata: { handler }, endpoints },
        nodes: [{ id: `${name}-1`, ...node }],
      })
    await register('site', 'web', { address: site, metadata: { protocol: 'http' } })
    const pages = createService(t, { name: 'pages', address: '127.0.0.1:0' }).handle('Pages', {
      show: endpoint({
        handle(request) {
          sentCookies.push(JSON.stringify(request))
          const cookies = { key: 'Set-Cookie', values: [...COOKIES] }
          return { statusCode: 200, header: { 'Set-Cookie': cookies } }
        },
      }),
    })
    const route = { endpoint: 'Pages.Show', handler: 'api', method: 'GET', path: '/pages/show' }
    await register('pages', 'api', { address: await pages.start(), metadata: { protocol: 'mx' } }, [
      { name: 'Pages.Show', metadata: route },
    ])

    const cookie = 'mx-dashboard=s; own=2; mx-token=t; __Host-mx-dashboard=s'
    for (const path of ['/site', '/site/stream', '/pages/show']) {
      const reply = await fetch(url + path, { headers: { cookie } })
      t.equal(reply.status, 200, path)
      await reply.text()
      t.strictSame(reply.headers.getSetCookie(), ['own=1'], path)
    }
    const headers = { cookie }
    const socket = new WebSocket(`ws://127.0.0.1:${port}/site/socket`, { headers })
    t.teardown(() => socket.terminate())
    const [handshake] = await once(socket, 'upgrade')
    t.strictSame(handshake.headers['set-cookie'], ['own=1'], '101')
    const rejection = await rejectedWebSocket(port, { path: '/site/closed', headers })
    t.equal(rejection.status, 403)
    t.strictSame(rejection.headers['set-cookie'], ['own=1'], 'a rejected handshake')
    await register('greeter', 'rpc', {
      ...{ address: await openGrpcSite(t), metadata: { protocol: 'grpc' } },
    })
    const greeted = await fetch(`${url}/greeter/Greeter/Hello`, {
      method: 'POST',
      headers: { 'content-type': 'application/grpc-web+proto' },
      body: NO_MESSAGE,
    })
    t.equal(greeted.headers.get('content-type'), 'application/grpc-web+proto')
    t.strictSame(greeted.headers.getSetCookie(), ['own=1'], 'gRPC-Web')
    if (listener === 'node') {
      const session = connect(url)
      t.teardown(() => session.destroy())
      const stream = session.request({ ':path': '/site', cookie })
      const [fields] = await once(stream, 'response')
      t.strictSame(fields['set-cookie'], ['own=1'], 'HTTP/2')
    }
    t.equal(sentCookies.length, listener === 'node' ? 6 : 5)
    for (const cookies of sentCookies) t.match(cookies, 'own=2')
    t.notMatch(sentCookies.join(), /mx-dashboard|mx-token/)
  })
