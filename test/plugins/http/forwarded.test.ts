import { once } from 'node:events'
import { connect } from 'node:http2'
import t from 'tap'
import { createNodeListener } from '../../../core/listener/node/listener.ts'
import { createUwsListener } from '../../../core/listener/uws/listener.ts'
import { formatRequestHead } from '../../../core/upstream/http1/request-head.ts'
import plugin from '../../../plugins/http/forwarded.ts'
import { buildPlugin, runPlugin, type TestRequest } from '../../../sdk/testing.ts'
import { openGateway } from '../../fixtures/gateway.ts'
import { openListener } from '../../fixtures/open-listener.ts'
import { openRawBackend } from '../../fixtures/raw-backend.ts'
import { RawClient } from '../../fixtures/raw-client.ts'

const PROXY = '10.0.0.1'
const PROXIES = ['10.0.0.0/8', '2001:db8::/32']
const trusting = buildPlugin(plugin, { trusted: PROXIES })
const standard = buildPlugin(plugin, { trusted: PROXIES, header: 'forwarded' })
const lenient = buildPlugin(plugin, { trusted: PROXIES, optional: true })

async function forward(request: TestRequest, built = buildPlugin(plugin)) {
  const { x } = await runPlugin(built, {
    host: 'shop.example',
    remoteAddress: '192.0.2.1',
    ...request,
  })
  const all = (name: string) => x.headers.getAll(name)
  return { x, all }
}

t.test('sends client, scheme, host and gateway to the backend', async (t) => {
  const { x, all } = await forward({})
  t.same(x.headers.flat, [
    'via',
    '1.1 mx',
    'x-forwarded-for',
    '192.0.2.1',
    'x-forwarded-proto',
    'http',
    'x-forwarded-host',
    'shop.example',
    'forwarded',
    'for=192.0.2.1;host=shop.example;proto=http',
  ])
  t.same(all('x-forwarded-for'), ['192.0.2.1'])
})

t.test('quotes IPv6 addresses and ports in Forwarded', async (t) => {
  const { all } = await forward({
    remoteAddress: '2001:0db8:0:0:0:0:0:1',
    host: 'shop.example:8080',
    secure: true,
  })
  t.same(all('forwarded'), ['for="[2001:db8::1]";host="shop.example:8080";proto=https'])
  t.same(all('x-forwarded-for'), ['2001:db8::1'])
  t.same(all('x-forwarded-proto'), ['https'])
  const quotedHost = await forward({ host: 'a"b\\c' })
  t.same(quotedHost.all('forwarded'), ['for=192.0.2.1;host="a\\"b\\\\c";proto=http'])
})

t.test('deletes forwarding headers of an untrusted client', async (t) => {
  const claims = [
    'Forwarded',
    'X-Forwarded',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Port',
    'X-Forwarded-Prefix',
    'X-Forwarded-Proto',
    'X-Forwarded-Server',
    'X-Forwarded-Client-Cert',
    'X-Real-IP',
    'X-Client-IP',
    'True-Client-IP',
    'CF-Connecting-IP',
    'X-Original-URL',
    'X-Rewrite-URL',
    'X-Original-Method',
    'X-Envoy-Original-Path',
    'x-envoy-external-address',
  ]
  const headers = Object.fromEntries(claims.map((name) => [name, ['6.6.6.6', '7.7.7.7']]))
  const { x, all } = await forward({
    headers: { ...headers, cookie: 'c', 'x-custom': 'kept', 'content-type': 'a/b' },
  })
  t.notOk(x.headers.flat.some((text) => text.includes('6.6.6.6') || text.includes('7.7.7.7')))
  t.same(all('x-forwarded-for'), ['192.0.2.1'])
  t.same(all('x-custom'), ['kept'])
  t.same(all('cookie'), ['c'])
  t.same(all('content-type'), ['a/b'])
  t.equal(x.clientAddress, '192.0.2.1')
})

t.test('uses the client address of a trusted proxy', async (t) => {
  const headers = {
    'X-Forwarded-For': '203.0.113.9',
    'X-Forwarded-Proto': 'https',
    'X-Forwarded-Host': 'public.example',
    'X-Forwarded-Port': '443',
    Forwarded: 'for=6.6.6.6;proto=gopher',
  }
  const { x, all } = await forward({ remoteAddress: PROXY, headers }, trusting)
  t.equal(x.clientAddress, '203.0.113.9')
  t.same(all('x-forwarded-for'), ['203.0.113.9, 10.0.0.1'])
  t.same(all('x-forwarded-proto'), ['https'])
  t.same(all('x-forwarded-host'), ['public.example'])
  t.same(all('x-forwarded-port'), ['443'])
  t.same(all('forwarded'), ['for=203.0.113.9;host=public.example;proto=https, for=10.0.0.1'])
})

t.test('deletes headers passed on by a trusted proxy that name another client', async (t) => {
  const from = (headers: Readonly<Record<string, string>>, built = trusting) =>
    forward({ remoteAddress: PROXY, headers }, built)
  const client = '2001:db9::1'
  for (const name of ['cf-connecting-ip', 'true-client-ip', 'x-client-ip', 'x-real-ip']) {
    const forged = await from({ 'x-forwarded-for': client, [name]: '7.7.7.7' })
    t.same(forged.all(name), [], name)
    const same = await from({ 'x-forwarded-for': client, [name]: '2001:0DB9:0::1' })
    t.same(same.all(name), ['2001:0DB9:0::1'])
  }
  const none = await from({ 'x-real-ip': '7.7.7.7' }, lenient)
  t.same(none.all('x-real-ip'), ['7.7.7.7'], 'from a proxy that sets only this header')
})

t.test('ignores a repeated scheme or port header, as it ignores lists', async (t) => {
  const { all } = await forward(
    {
      remoteAddress: PROXY,
      headers: {
        'x-forwarded-for': '7.7.7.7',
        'x-forwarded-proto': ['https', 'http'],
        'x-forwarded-host': 'a.example',
        'x-forwarded-port': ['8443', '80'],
      },
    },
    trusting,
  )
  t.same(all('x-forwarded-proto'), ['http'], 'the scheme of the connection')
  t.match(all('forwarded'), [/^for=7\.7\.7\.7;host=a\.example;proto=http, /])
})

t.test('uses the rightmost address that is not a trusted proxy as the client', async (t) => {
  const cases: [string | string[], string][] = [
    ['6.6.6.6, 203.0.113.9, 10.0.0.2', '203.0.113.9'],
    ['203.0.113.9:5555', '203.0.113.9'],
    ['[2001:db9::5]:443', '2001:db9::5'],
    ['2001:db8::9, 10.0.0.7', '2001:db8::9'],
    ['10.0.0.3', '10.0.0.3'],
    [['6.6.6.6', '203.0.113.9', '10.0.0.2'], '203.0.113.9'],
    ['203.0.113.9, nonsense, 10.0.0.2', '10.0.0.2'],
  ]
  for (const [value, client] of cases) {
    const { x } = await forward(
      { remoteAddress: PROXY, headers: { 'x-forwarded-for': value } },
      trusting,
    )
    t.equal(x.clientAddress, client, JSON.stringify(value))
  }
})

t.test('treats the client as unknown if a proxy names none or an untrusted one', async (t) => {
  const rows: [string, Record<string, string>, boolean][] = [
    ['192.0.2.1', {}, false],
    ['192.0.2.1', { 'x-request-id': 'a' }, false],
    ['192.0.2.1', { 'x-forwarded-for': '192.0.2.9' }, true],
    ['192.0.2.1', { via: '1.1 front' }, true],
    [PROXY, {}, false],
    [PROXY, { 'x-forwarded-proto': 'https' }, true],
    [PROXY, { 'x-forwarded-for': 'unknown' }, true],
    [PROXY, { 'x-forwarded-for': 'unknown, 10.0.0.2' }, true],
    [PROXY, { 'x-forwarded-for': '192.0.2.9' }, false],
    [PROXY, { via: '1.1 front', 'x-forwarded-for': '10.0.0.3, 10.0.0.2' }, false],
  ]
  for (const [remoteAddress, headers, relayed] of rows) {
    const { x } = await forward({ remoteAddress, headers }, lenient)
    t.equal(x.relayed, relayed, `${remoteAddress} ${JSON.stringify(headers)}`)
  }
})

t.test('rejects a request of a trusted proxy without a client address', async (t) => {
  const rows: [string, Record<string, string>, number][] = [
    [PROXY, {}, 400],
    [PROXY, { 'x-forwarded-proto': 'https', 'x-real-ip': '192.0.2.9', via: '1.1 front' }, 400],
    ['2001:db8::7', {}, 400],
    [PROXY, { 'x-forwarded-for': '192.0.2.9' }, 200],
    [PROXY, { forwarded: 'for=192.0.2.9' }, 400],
    [PROXY, { forwarded: 'a', 'x-forwarded-for': '' }, 400],
    [PROXY, { 'x-forwarded-for': 'unknown' }, 400],
    [PROXY, { 'x-forwarded-for': '192.0.2.9, ' }, 400],
    [PROXY, { 'x-forwarded-for': '192.0.2.9, 127.1' }, 400],
    ['192.0.2.1', {}, 200],
  ]
  for (const [remoteAddress, headers, status] of rows) {
    const request = { remoteAddress, headers }
    const text = JSON.stringify(request)
    const result = await runPlugin(trusting, request)
    t.match([result.status, result.forwarded], [status, status === 200], text)
    if (status === 400)
      t.match(
        result.body,
        /no valid client address in the x-forwarded-for header.*trusted_proxies_/,
      )
    t.equal((await runPlugin(lenient, request)).status, 200, text)
  }
  const options = { method: 'OPTIONS', headers: { 'max-forwards': '0' }, remoteAddress: PROXY }
  t.equal((await runPlugin(trusting, options)).status, 400)
})

t.test('reads client, scheme and host of a proxy that writes Forwarded', async (t) => {
  const original = ['http', 'shop.example'] as const
  const rows: [string | string[], string, string, string, string][] = [
    ['for=203.0.113.9', '203.0.113.9', '203.0.113.9, 10.0.0.1', ...original],
    [
      'for=6.6.6.6;proto=http, For="[2001:db9::5]:443" ; PROTO=https;host="a:1", for=10.0.0.2;proto=http',
      '2001:db9::5',
      '2001:db9::5, 10.0.0.2, 10.0.0.1',
      'https',
      'a:1',
    ],
    [
      'for=203.0.113.9, for=10.0.0.2;proto=https;host=b',
      '203.0.113.9',
      '203.0.113.9, 10.0.0.2, 10.0.0.1',
      'https',
      'b',
    ],
    [
      'for=203.0.113.9;proto=gopher;host="a/b"',
      '203.0.113.9',
      '203.0.113.9, 10.0.0.1',
      ...original,
    ],
    [['for=6.6.6.6', 'by=x;for=203.0.113.9'], '203.0.113.9', '203.0.113.9, 10.0.0.1', ...original],
    ['for=203.0.113.9, for=_hidden, for=10.0.0.2', '10.0.0.2', '10.0.0.2, 10.0.0.1', ...original],
    ['for="_\\"a,b;", for=203.0.113.9,', '203.0.113.9', '203.0.113.9, 10.0.0.1', ...original],
  ]
  for (const [value, client, addresses, proto, host] of rows) {
    const headers = {
      forwarded: value,
      'x-forwarded-for': '7.7.7.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil.example',
      'x-real-ip': '7.7.7.7',
    }
    const { x, all } = await forward({ remoteAddress: PROXY, headers }, standard)
    const message = JSON.stringify(value)
    t.equal(x.clientAddress, client, message)
    t.same(all('x-forwarded-for'), [addresses], message)
    t.same(all('x-forwarded-proto'), [proto], message)
    t.same(all('x-forwarded-host'), [host], message)
    const [first, ...rest] = addresses
      .split(', ')
      .map((address) => (address.includes(':') ? `"[${address}]"` : address))
    const written = [`${first};host=${host === 'a:1' ? '"a:1"' : host};proto=${proto}`, ...rest]
    t.same(all('forwarded'), [written.map((node) => `for=${node}`).join(', ')], message)
    t.notOk(x.headers.has('x-real-ip'))
  }
})

t.test('rejects a request whose Forwarded does not end with an address', async (t) => {
  const values = [
    [],
    ['a'],
    [''],
    ['for=unknown'],
    ['for=203.0.113.9, for=_hidden'],
    ['for=203.0.113.9, proto=http'],
    ['for=6.6.6.6;for=203.0.113.9'],
    ['for=6.6.6.6;host="', 'for=203.0.113.9'],
    ['for=6.6.6.6;host="', 'for="[2001:db9::5]"'],
  ]
  for (const forwarded of values) {
    const headers = { forwarded, 'x-forwarded-for': '192.0.2.9' }
    const { status, body } = await runPlugin(standard, { remoteAddress: PROXY, headers })
    t.equal(status, 400, JSON.stringify(forwarded))
    t.match(body, /no valid client address in the forwarded header/)
  }
})

t.test('writes Forwarded from the verified part of X-Forwarded-For', async (t) => {
  const headers = { 'x-forwarded-for': '6.6.6.6, 2001:db9::5, 10.0.0.2', forwarded: 'for=6.6.6.6' }
  const { all } = await forward({ remoteAddress: PROXY, headers }, trusting)
  t.same(all('forwarded'), [
    'for="[2001:db9::5]";host=shop.example;proto=http, for=10.0.0.2, for=10.0.0.1',
  ])
})

t.test('writes the same values to Forwarded and X-Forwarded-*', async (t) => {
  const rows: [Record<string, string | string[]>, string][] = [
    [{ proto: 'https', host: 'www.example.com' }, ';host=www.example.com;proto=https'],
    [{ proto: 'https' }, ';host=shop.example;proto=https'],
    [{ proto: 'https', host: 'a', port: '8443' }, ';host="a:8443";proto=https'],
    [{ proto: 'https', host: '[::1]', port: '443' }, ';host="[::1]";proto=https'],
    [{ host: 'a:1', port: '80' }, ';host="a:1";proto=http'],
    [{ host: 'a', port: '80' }, ';host=a;proto=http'],
    [{ proto: 'https', host: 'a, b' }, ';proto=https'],
    [{ proto: 'https', host: ['a', 'b'] }, ';proto=https'],
  ]
  for (const [claims, parameters] of rows) {
    const headers = Object.fromEntries(
      Object.entries({ for: '203.0.113.9', ...claims }).map(([name, value]) => [
        `x-forwarded-${name}`,
        value,
      ]),
    )
    const { all } = await forward({ remoteAddress: PROXY, headers }, trusting)
    t.same(all('forwarded'), [`for=203.0.113.9${parameters}, for=10.0.0.1`])
  }
})

t.test('logs rejected requests of trusted proxies once a minute', async (t) => {
  let nowMs = 0
  const logged: object[] = []
  const ignore = () => {}
  const log = {
    debug: ignore,
    info: ignore,
    error: ignore,
    warn: (details: object) => logged.push(details),
  }
  const built = buildPlugin(plugin, { trusted: PROXIES }, { log, nowMs: () => nowMs })
  for (nowMs of [0, 1, 59_999, 60_000, 60_001]) await runPlugin(built, { remoteAddress: PROXY })
  t.same(logged, [
    { proxy: PROXY, requests: 1 },
    { proxy: PROXY, requests: 3 },
  ])
})

for (const create of [createUwsListener, createNodeListener]) {
  // A folded line as forwarded by h2o. µWebSockets parses no header after the nameless one. The client controls the
  // headers before it.
  for (const before of ['', 'Forwarded: a\r\n', 'X-Forwarded-For: \r\n'])
    t.test(`${create.name}: rejects headers dropped after ${JSON.stringify(before)}`, async (t) => {
      const { port, served } = await openListener(t, create, (x) => x.reply(200, 'served'), {}, [
        buildPlugin(plugin, { trusted: ['loopback'] }),
      ])
      const client = new RawClient(port)
      const hidden = 'GET /hidden HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n'
      client.send(`GET / HTTP/1.1\r\nHost: a\r\n${before}X: b\r\n:  c\r\n`)
      client.send(`Content-Length: ${hidden.length}\r\nX-Forwarded-For: 192.0.2.9\r\n\r\n`)
      await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
      t.match(client.text, /^HTTP\/1.1 400 /)
      client.send(hidden)
      await client.ended()
      t.same(served, [])
    })
}

t.test('processes a long list of proxies in bounded time', async (t) => {
  const value = Array.from({ length: 1000 }, () => '10.0.0.2').join(', ')
  const { x } = await forward(
    { remoteAddress: PROXY, headers: { 'x-forwarded-for': `6.6.6.6, ${value}` } },
    trusting,
  )
  t.equal(x.clientAddress, '10.0.0.2')
})

t.test('replaces an invalid scheme, even of a trusted proxy', async (t) => {
  for (const proto of ['gopher', 'https, http', '', 'HTTPS']) {
    const { all } = await forward(
      { remoteAddress: PROXY, headers: { 'x-forwarded-proto': proto } },
      lenient,
    )
    t.same(all('x-forwarded-proto'), ['http'], proto)
  }
})

t.test('sends no address for a peer on a Unix socket', async (t) => {
  const { all } = await forward({ remoteAddress: '' })
  t.same(all('x-forwarded-for'), [])
  t.same(all('forwarded'), ['for=unknown;host=shop.example;proto=http'])
  const { x } = await forward(
    { remoteAddress: '', headers: { 'x-forwarded-for': '203.0.113.9' } },
    buildPlugin(plugin, { trusted: ['unix'] }),
  )
  t.equal(x.clientAddress, '203.0.113.9')
  t.same(x.headers.getAll('x-forwarded-for'), ['203.0.113.9'])
})

t.test('appends this gateway to Via of earlier proxies', async (t) => {
  const { x, all } = await forward({ headers: { via: '1.0 fred, 1.1 p.example (Apache)' } })
  t.same(all('via'), ['1.0 fred, 1.1 p.example (Apache)', '1.1 mx'])
  t.match(formatRequestHead(x), /\r\nvia: 1.0 fred, .*\r\nvia: 1.1 mx\r\n/, 'in that order')
})

t.test('writes the HTTP version of the client to Via', async (t) => {
  const backend = await openRawBackend(t, { onRequest: (connection) => connection.reply() })
  const { origin } = await openGateway(
    t,
    { app: [backend.port] },
    {
      listener: (options) => createNodeListener({ ...options, http2: 'cleartext' }),
      plugins: [buildPlugin(plugin)],
    },
  )
  await (await fetch(`${origin}/app`)).text()
  const session = connect(origin)
  t.teardown(() => session.destroy())
  const stream = session.request({ ':path': '/app' })
  stream.resume()
  await once(stream, 'end')
  const text = backend.connections.map((connection) => connection.text).join('')
  t.same(text.match(/(?<=\r\nvia: ).*/g), ['1.1 mx', '2 mx'])
})

t.test('responds to OPTIONS with Max-Forwards: 0', async (t) => {
  const sendRequest = (method: string, value: string) =>
    runPlugin(buildPlugin(plugin), { method, headers: { 'max-forwards': value } })
  const { status, headers, forwarded } = await sendRequest('OPTIONS', '0')
  t.match([status, headers.get('allow'), forwarded], [204, /^GET, HEAD, /, false])
  for (const [method, value, passed] of [
    ['OPTIONS', '3', '2'],
    ['OPTIONS', 'many', 'many'],
    ['GET', '0', '0'],
  ] as const) {
    const { x } = await sendRequest(method, value)
    t.same([x.status, x.headers.get('max-forwards')], [200, passed])
  }
})

t.test('responds with 508 to a request that passed ten times', async (t) => {
  const nineHops = Array.from({ length: 9 }, () => '1.1 mx').join(', ')
  t.equal((await forward({ headers: { via: nineHops } })).x.status, 200)
  const { status, body, forwarded } = await runPlugin(buildPlugin(plugin), {
    headers: { via: [nineHops, '1.1 fred,1.1 mx'] },
  })
  t.equal(status, 508)
  t.match(JSON.parse(body), {
    Id: 'go.mx.api',
    Code: 508,
    Detail: 'request loop: passed mx 10 times',
  })
  t.notOk(forwarded)
  const other = buildPlugin(plugin, { via: 'edge-1', hops: 1 })
  t.equal((await runPlugin(other, { headers: { via: nineHops } })).status, 200)
  t.equal((await runPlugin(other, { headers: { via: '1.1 edge-1' } })).status, 508)
})

t.test('omits Via and Forwarded if disabled', async (t) => {
  const { all } = await forward({}, buildPlugin(plugin, { via: '', standard: false }))
  t.same(all('via'), [])
  t.same(all('forwarded'), [])
  t.same(all('x-forwarded-for'), ['192.0.2.1'])
})

t.test('rejects invalid address ranges and names', async (t) => {
  t.throws(
    () => buildPlugin(plugin, { trusted: ['10.0.0/8'] }),
    /plugin "forwarded": trusted must be address ranges/,
  )
  t.throws(
    () => buildPlugin(plugin, { via: 'a b' }),
    /via must be a host name or a token, got "a b"/,
  )
})
