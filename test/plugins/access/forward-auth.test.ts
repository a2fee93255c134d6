import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import plugin from '../../../plugins/access/forward-auth.ts'
import { buildPlugin, createTestEnv, runPlugin, type TestRequest } from '../../../sdk/testing.ts'

/** An authentication server, which admits `authorization: Bearer jane`. */
async function open(
  t: Test,
  respond: (request: IncomingMessage, reply: ServerResponse) => void = (request, reply) => {
    const isJane = request.headers.authorization === 'Bearer jane'
    reply.writeHead(isJane ? 200 : 401, {
      ...{ 'Remote-User': 'jane', 'X-Other': 'secret', 'Content-Type': 'text/html' },
      'WWW-Authenticate': 'Bearer',
    })
    reply.end(isJane ? '' : 'log in')
  },
) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, reply) => {
    requests.push(request)
    respond(request, reply)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const env = createTestEnv()
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/verify?a=b`
  const build = (options: object = {}) => {
    const built = buildPlugin(plugin, { address, ...options }, env)
    t.teardown(() => built.close?.())
    return built
  }
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { build, requests, env, address, server }
}

const JANE = { authorization: 'Bearer jane' }

t.test(
  '2xx admits a request, with headers of the response instead of the headers of the client',
  async (t) => {
    const { build, requests } = await open(t)
    const built = build({ auth_response_headers: ['Remote-User'] })
    const request: TestRequest = {
      ...{ method: 'PUT', path: '/orders/1?c=d', host: 'shop.test', secure: true, body: 'hi' },
      remoteAddress: '192.0.2.1',
      headers: {
        ...JANE,
        ...{ 'remote-user': 'admin', remote_user: 'admin', 'x-forwarded-for': '10.0.0.1' },
        ...{ 'content-type': 'text/plain', 'if-none-match': '"a"', cookie: 'e=f' },
      },
    }
    const { status, x } = await runPlugin(built, request)
    t.equal(status, 200)
    t.strictSame(x.headers.getAll('remote-user'), ['jane'])
    t.notOk(x.headers.has('remote_user'))
    t.notOk(x.headers.has('x-other'))
    const [sent] = requests
    t.match(sent, { method: 'GET', url: '/verify?a=b' })
    t.match(sent!.headers, {
      ...{ authorization: 'Bearer jane', cookie: 'e=f', 'x-forwarded-for': '192.0.2.1' },
      ...{ 'x-forwarded-method': 'PUT', 'x-forwarded-proto': 'https' },
      ...{ 'x-forwarded-host': 'shop.test', 'x-forwarded-uri': '/orders/1?c=d' },
    })
    for (const name of ['content-type', 'if-none-match', 'remote-user', 'content-length'])
      t.notOk(name in sent!.headers, name)
  },
)

t.test('a credential that the response may replace is sent to the server', async (t) => {
  const { build, requests } = await open(t)
  const built = build({ auth_response_headers: ['authorization'] })
  const { status, x } = await runPlugin(built, { headers: JANE })
  t.equal(status, 200)
  t.equal(requests[0]!.headers.authorization, 'Bearer jane')
  t.notOk(x.headers.has('authorization'), 'not forwarded unless the server returns one')
})

t.test('any other response is sent to the client', async (t) => {
  const { build } = await open(t)
  const { status, headers, body, forwarded } = await runPlugin(build(), {})
  t.strictSame([status, body, forwarded], [401, 'log in', false])
  t.equal(headers.get('www-authenticate'), 'Bearer')
  t.equal(headers.get('cache-control'), 'no-store')
  t.notOk(headers.has('connection'))
})

t.test('a redirect to a login page is not followed', async (t) => {
  const { build, requests } = await open(t, (_, reply) =>
    reply.writeHead(302, { location: 'https://login.test/?rd=x' }).end(),
  )
  const { status, headers } = await runPlugin(build(), {})
  t.strictSame([status, headers.get('location')], [302, 'https://login.test/?rd=x'])
  t.equal(requests.length, 1)
})

t.test('only named request headers are sent', async (t) => {
  const { build, requests } = await open(t)
  const built = build({ auth_request_headers: ['Authorization'] })
  await runPlugin(built, { headers: { ...JANE, cookie: 'a=b' } })
  t.match(requests[0]!.headers, { authorization: 'Bearer jane', cookie: undefined })
})

t.test('sends method and URL reported by a trusted proxy in front', async (t) => {
  const { build, requests } = await open(t)
  const headers = { 'x-forwarded-method': 'POST', 'x-forwarded-uri': '/outer' }
  await runPlugin(build({ trust_forward_header: true }), { headers })
  await runPlugin(build(), { headers })
  t.match(requests[0]!.headers, headers)
  t.match(requests[1]!.headers, { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/' })
})

t.test('an unreachable, slow or verbose server denies with 503', async (t) => {
  const slow = await open(t, () => {})
  const late = await runPlugin(slow.build({ timeout: '50ms' }), { headers: JANE })
  t.strictSame([late.status, late.forwarded], [503, false])
  t.equal(late.x.failure, 'authentication server: no response within 50 ms')
  t.match(late.body, /the authentication server is unavailable/)
  const verbose = await open(t, (_, reply) => reply.end('x'.repeat(2000)))
  const long = await runPlugin(verbose.build({ max_response_body_size: '1kb' }), { headers: JANE })
  t.strictSame([long.status, long.forwarded], [503, false])
  const unknownStatus = await open(t, ({ socket }) => void socket.end('HTTP/1.1 999 Odd\r\n\r\n'))
  const invalid = await runPlugin(unknownStatus.build(), { headers: JANE })
  t.strictSame([invalid.status, invalid.forwarded], [503, false])
  const stopped = await open(t)
  stopped.server.close()
  const { status, x } = await runPlugin(stopped.build(), { headers: JANE })
  t.equal(status, 503)
  t.match(x.failure, /ECONNREFUSED/)
})

t.test('a persistent connection that the server has closed is replaced', async (t) => {
  const { build, server } = await open(t)
  const built = build()
  t.equal((await runPlugin(built, { headers: JANE })).status, 200)
  server.closeAllConnections()
  t.equal((await runPlugin(built, { headers: JANE })).status, 200)
})

t.test('positive decisions are cached by URL, address and the key headers', async (t) => {
  const { build, requests, env } = await open(t)
  const cache = { ttl: '10s', max_entries: 2, key: ['Authorization'] }
  const built = build({ cache, auth_response_headers: ['remote-user'] })
  const sendRequest = async (request: TestRequest = {}): Promise<[number, number]> => {
    const before = requests.length
    const { status, x } = await runPlugin(built, { headers: JANE, ...request })
    if (status === 200) t.equal(x.headers.get('remote-user'), 'jane')
    return [status, requests.length - before]
  }
  t.strictSame(await sendRequest(), [200, 1])
  t.strictSame(await sendRequest(), [200, 0], 'cached')
  t.strictSame(await sendRequest({ path: '/other' }), [200, 1], 'another URL')
  t.strictSame(
    await sendRequest({ headers: { authorization: 'Bearer joe' } }),
    [401, 1],
    'another caller',
  )
  t.strictSame(
    await sendRequest({ headers: { authorization: 'Bearer joe' } }),
    [401, 1],
    'a denial',
  )
  t.strictSame(await sendRequest({ remoteAddress: '192.0.2.9' }), [200, 1], 'another address')
  t.strictSame(await sendRequest(), [200, 1], 'the least recently used of two entries was dropped')
  env.now += 10_001
  t.strictSame(await sendRequest(), [200, 1], 'expired')
})

t.test('cached decisions differ by the method and URL of a trusted proxy in front', async (t) => {
  const { build, requests } = await open(t)
  const built = build({ trust_forward_header: true, cache: { ttl: '10s', key: ['authorization'] } })
  const sendRequest = async (uri: string, method = 'GET'): Promise<void> => {
    const headers = { ...JANE, 'x-forwarded-uri': uri, 'x-forwarded-method': method }
    await runPlugin(built, { headers })
  }
  for (const uri of ['/public', '/public', '/admin']) await sendRequest(uri)
  await sendRequest('/admin', 'DELETE')
  t.strictSame(
    requests.map(({ headers }) => [headers['x-forwarded-method'], headers['x-forwarded-uri']]),
    [
      ['GET', '/public'],
      ['GET', '/admin'],
      ['DELETE', '/admin'],
    ],
  )
})

t.test('requests without key headers, and no-store responses, are not cached', async (t) => {
  const { build, requests } = await open(t, (request, reply) => {
    if (request.headers.authorization !== undefined)
      reply.setHeader('Cache-Control', 'private, no-store')
    reply.end()
  })
  const built = build({ cache: { ttl: '10s', key: ['authorization'] } })
  for (const headers of [{}, {}, JANE, JANE]) await runPlugin(built, { headers })
  t.equal(requests.length, 4)
})

t.test('rejects invalid options', async (t) => {
  const rows: [object, RegExp][] = [
    [{}, /option "address" is missing/],
    [{ address: 'auth:80' }, /address must be a URL such as/],
    [{ address: 'http://a:b@c' }, /address must be a URL such as/],
    [{ address: 'http://a', timeout: '0' }, /timeout must be more than 0/],
    [{ address: 'http://a', timeout: '5' }, /timeout must be a duration such as/],
    [{ address: 'http://a', auth_response_headers: ['Host'] }, /manages the header host/],
    [
      { address: 'http://a', auth_request_headers: ['a b'] },
      /auth_request_headers: header name must/,
    ],
    [{ address: 'http://a', cache: { ttl: '1s' } }, /option "cache.key" is missing/],
    [{ address: 'http://a', authResponseHeaders: [] }, /unknown option "authResponseHeaders"/],
  ]
  for (const [options, problem] of rows) t.throws(() => buildPlugin(plugin, options), problem)
})
