import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import {
  type HttpChallengeServerOptions,
  openHttpChallengeServer,
} from '../../../../platform/acme/http-challenge-server.ts'

const TOKEN = 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA'
const CHALLENGE = `/.well-known/acme-challenge/${TOKEN}`

async function open(t: Test, options: Partial<HttpChallengeServerOptions> = {}) {
  const messages: string[] = []
  const log = pino({}, { write: (line: string) => messages.push(JSON.parse(line).msg) })
  const server = await openHttpChallengeServer({
    address: { host: '127.0.0.1', port: 0 },
    findToken: async (token) => (token === TOKEN ? `${token}.thumbprint` : undefined),
    hasHost: async (host) => host === 'a.test',
    httpsPort: 443,
    log,
    ...options,
  })
  t.teardown(server.close)
  return { server, messages }
}

/** Returns the response to these bytes until the connection ends. */
async function sendRequest(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(text)
  const chunks = await socket.toArray().catch(() => [])
  return Buffer.concat(chunks).toString()
}

const get = (path: string, host = 'Host: a.test\r\n', method = 'GET'): string =>
  `${method} ${path} HTTP/1.1\r\n${host}\r\n`

t.test('responds to challenges with the key authorization of the store', async (t) => {
  const { server } = await open(t)
  const reply = await sendRequest(server.port, get(CHALLENGE))
  t.match(reply, /^HTTP\/1\.1 200 OK\r\n/)
  t.match(reply, new RegExp(`\r\n\r\n${TOKEN}\\.thumbprint$`))
  t.match(reply, /\r\ncontent-type: application\/octet-stream\r\n/i)
  t.match(
    await sendRequest(server.port, get(CHALLENGE, '')),
    /^HTTP\/1\.1 400 /,
    'HTTP/1.1 requires a Host',
  )
  for (const token of [
    '',
    'short',
    `${TOKEN}x`,
    '../../../../etc/passwd-aaaaaaaaaa',
    '%2e%2e%2faaaaaaaaaaaaaaaaaa',
  ])
    t.match(
      await sendRequest(server.port, get(`/.well-known/acme-challenge/${token}`)),
      /^HTTP\/1\.1 404 [\s\S]*no such challenge$/,
      token,
    )
})

t.test('logs a failed accept once and continues to listen', async (t) => {
  const { server, messages } = await open(t)
  const servers: Server[] = []
  const onRequest = (message: unknown): void => {
    servers.push((message as { server: Server }).server)
  }
  subscribe('http.server.request.start', onRequest)
  t.teardown(() => unsubscribe('http.server.request.start', onRequest))
  await sendRequest(server.port, get('/'))
  for (let i = 0; i < 2; i++) servers[0]!.emit('error', new Error('accept EMFILE'))
  t.match(messages, [/^ACME: 127\.0\.0\.1:\d+ cannot accept a connection: accept EMFILE$/])
  t.equal(messages.length, 1)
  t.match(await sendRequest(server.port, get(CHALLENGE)), /^HTTP\/1\.1 200 /)
})

t.test('returns 503 while the store is unavailable', async (t) => {
  const { server } = await open(t, { findToken: () => Promise.reject(new Error('unavailable')) })
  t.match(await sendRequest(server.port, get(CHALLENGE)), /^HTTP\/1\.1 503 /)
})

t.test('redirects other requests for served hosts to HTTPS and preserves the method', async (t) => {
  const { server } = await open(t)
  const cases: [string, string, string][] = [
    ['GET', '/', '/'],
    ['HEAD', '/a/b?c=d%20e', '/a/b?c=d%20e'],
    ['POST', '/x', '/x'],
    ['DELETE', '//evil.test/x', '//evil.test/x'],
    ['POST', CHALLENGE, CHALLENGE],
  ]
  for (const [method, path, target] of cases) {
    const reply = await sendRequest(server.port, get(path, 'Host: A.test:80\r\n', method))
    t.match(reply, /^HTTP\/1\.1 308 /, `${method} ${path}`)
    t.ok(reply.includes(`\r\nlocation: https://a.test${target}\r\n`), reply)
  }
  const { server: pending } = await open(t, { httpsPort: 8443 })
  t.ok(
    (await sendRequest(pending.port, get('/'))).includes('\r\nlocation: https://a.test:8443/\r\n'),
  )
})

t.test('rejects unknown hosts and malformed requests without a redirect', async (t) => {
  const { server } = await open(t)
  const cases: [RegExp, string][] = [
    [/^HTTP\/1\.1 404 [\s\S]*no such host$/, get('/', 'Host: b.test\r\n')],
    [/^HTTP\/1\.1 400 /, get('/', 'Host: a.test\r\nHost: b.test\r\n')],
    [/^HTTP\/1\.1 400 /, get('/', 'Host: 127.0.0.1\r\n')],
    [/^HTTP\/1\.1 400 /, get('/', 'Host: a.test/evil\r\n')],
    [/^HTTP\/1\.1 400 /, get('/', 'Host: a@b.test\r\n')],
    [/^HTTP\/1\.1 400 /, get('http://evil.test/')],
    [/^HTTP\/1\.1 400 /, get('/<script>')],
    [/^HTTP\/1\.1 400 /, get('/"')],
    [/^HTTP\/1\.1 431 /, get(`/${'a'.repeat(9000)}`)],
    [/^$/, get('a.test:443', 'Host: a.test\r\n', 'CONNECT')],
    [/^$/, get('/', 'Host: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n')],
  ]
  for (const [expected, text] of cases) {
    const reply = await sendRequest(server.port, text)
    t.match(reply, expected, text.slice(0, 80))
    t.notMatch(reply, /evil|script|location/i)
  }
})

t.test('logs a port in use once and listens when it becomes free', async (t) => {
  const portOwner = createServer().listen(0, '127.0.0.1')
  await once(portOwner, 'listening')
  const { port } = portOwner.address() as AddressInfo
  const { server, messages } = await open(t, { address: { host: '127.0.0.1', port }, retryMs: 5 })
  t.equal(server.port, 0)
  t.match(messages, [
    new RegExp(
      `^cannot listen on 127\\.0\\.0\\.1:${port}: the port is already in use: certificates cannot be issued or renewed`,
    ),
  ])
  portOwner.close()
  // The timer is unrefed and does not keep the process alive.
  const alive = setInterval(() => {}, 1000)
  while (server.port === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  clearInterval(alive)
  t.equal(server.port, port)
  t.equal(messages.length, 2)
})

t.test('returns 408 for an incomplete request', async (t) => {
  const { server } = await open(t)
  t.match(await sendRequest(server.port, 'GET / HTTP/1.1\r\nHost: a'), /^HTTP\/1\.1 408 /)
})
