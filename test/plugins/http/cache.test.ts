import t from 'tap'
import type { Plugin } from '../../../core/chain.ts'
import type { Session } from '../../../core/contracts/auth.ts'
import { createPlugin } from '../../../core/plugin/define.ts'
import plugin from '../../../plugins/http/cache.ts'
import {
  buildPlugin,
  createTestEnv,
  runPlugin,
  type TestEnv,
  type TestHeaders,
  type TestReply,
  type TestRequest,
  type TestResult,
} from '../../../sdk/testing.ts'

const START_MS = 1_700_000_000_000

interface Harness {
  readonly env: TestEnv
  readonly plugin: Plugin
  /** Requests that reached the backend, as their headers. */
  readonly received: {
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
  }[]
  readonly send: (request?: TestRequest, reply?: TestReply) => Promise<TestResult>
  /** Sends a GET with these headers and returns its body. */
  readonly get: (headers?: TestHeaders, reply?: TestReply) => Promise<string>
}

/** A cache in front of a backend whose responses have increasing numbers as their bodies. */
function open(options: object = {}, session?: Session): Harness {
  const env = createTestEnv()
  const cache = buildPlugin(plugin, options, env)
  const login: Plugin = {
    name: 'login',
    onRequest: (x) => {
      if (x.headers.has('x-user')) x.session = session
    },
  }
  const received: Harness['received'] = []
  const send = (request: TestRequest = {}, reply: TestReply = {}) =>
    runPlugin([login, cache], request, {
      handle: (x) => {
        const headers: Record<string, string> = {}
        for (let i = 0; i < x.headers.flat.length; i += 2)
          headers[x.headers.flat[i]!] = x.headers.flat[i + 1]!
        received.push({ method: x.method, headers })
        const list = Object.entries(reply.headers ?? {}).flatMap(([name, values]) =>
          [values].flat().flatMap((value) => [name, value]),
        )
        x.reply(reply.status ?? 200, reply.body ?? String(received.length), list)
      },
    })
  return {
    ...{ env, plugin: cache, received, send },
    get: async (headers = {}, reply) => (await send({ headers }, reply)).body,
  }
}

function cached(cacheControl: string, headers: TestHeaders = {}): TestReply {
  return { headers: { 'cache-control': cacheControl, ...headers } }
}

t.test('sends a fresh response again, with its age and Cache-Status', async (t) => {
  const { env, send } = open()
  const first = await send({}, cached('max-age=60', { 'x-test': 'a' }))
  t.equal(first.headers.get('cache-status'), 'mx; fwd=uri-miss; fwd-status=200; stored')
  env.now += 20_500
  const second = await send()
  t.equal(second.forwarded, false)
  t.equal(second.body, '1')
  t.equal(second.headers.get('age'), '20')
  t.equal(second.headers.get('x-test'), 'a')
  t.equal(second.headers.get('cache-status'), 'mx; hit; ttl=39')
  env.now += 40_000
  t.equal((await send()).body, '2', 'stale')
})

t.test('cache_status: false omits Cache-Status', async (t) => {
  const { send } = open({ cache_status: false })
  t.notOk((await send({}, cached('max-age=60'))).headers.has('cache-status'))
  t.notOk((await send()).headers.has('cache-status'))
})

t.test('stores only what the response allows', async (t) => {
  const date = new Date(START_MS).toUTCString()
  const later = new Date(START_MS + 60_000).toUTCString()
  const hourAgo = new Date(START_MS - 3_600_000).toUTCString()
  for (const [name, reply, isStored] of [
    ['no lifetime', {}, false],
    ['max-age', cached('max-age=1'), true],
    ['max-age in quotes', cached('max-age="1"'), true],
    ['max-age=0', cached('max-age=0'), false],
    ['max-age inside another value', cached('ext="max-age=100"'), false],
    ['invalid max-age', cached("max-age='100'"), false],
    ['the lower of two max-age', cached('max-age=0, max-age=100'), false],
    ['s-maxage before max-age', cached('max-age=0, s-maxage=100'), true],
    ['a short s-maxage', cached('s-maxage=0, max-age=100'), false],
    ['no-store', cached('max-age=100, no-store'), false],
    ['No-Store', cached('max-age=100, No-Store'), false],
    ['private', cached('private, max-age=100'), false],
    ['private for a header', cached('private="x-a", max-age=100'), true],
    ['must-understand', cached('no-store, must-understand, max-age=100'), true],
    ['Expires', { headers: { expires: later, date } }, true],
    ['Expires before Date', { headers: { expires: date, date: later } }, false],
    ['invalid Expires', { headers: { expires: '0' } }, false],
    ['two Expires', { headers: { expires: [later, later] } }, false],
    ['RFC 850 Expires', { headers: { expires: 'Tuesday, 14-Nov-23 23:13:20 GMT' } }, true],
    ['asctime Expires', { headers: { expires: 'Tue Nov 14 23:13:20 2023' } }, true],
    ['an older Age', cached('max-age=100', { age: '200' }), false],
    ['invalid Age', cached('max-age=100', { age: 'x' }), false],
    ['Last-Modified', { headers: { 'last-modified': hourAgo } }, true],
    ['Last-Modified of a 403', { status: 403, headers: { 'last-modified': hourAgo } }, false],
    ['404 with max-age', { status: 404, ...cached('max-age=100') }, true],
    ['a status of another range', { status: 299, ...cached('max-age=100') }, true],
    ['206', { status: 206, ...cached('max-age=100') }, false],
    ['Vary: *', cached('max-age=100', { vary: '*' }), false],
    ['Set-Cookie', cached('max-age=100', { 'set-cookie': 'a=b' }), false],
    ['public Set-Cookie', cached('public, max-age=100', { 'set-cookie': 'a=b' }), true],
    ['CDN-Cache-Control', { headers: { 'cdn-cache-control': 'max-age=9' } }, true],
    [
      'CDN-Cache-Control: no-store',
      cached('max-age=9', { 'cdn-cache-control': 'no-store' }),
      false,
    ],
  ] as const) {
    const { get } = open()
    await get({}, reply)
    t.equal(await get({}, reply), isStored ? '1' : '2', name)
  }
})

t.test('options define lifetimes of responses that state none', async (t) => {
  const { env, get } = open({ default_ttl: '10s', negative_ttl: { 404: '5s' } })
  await get()
  t.equal(await get(), '1')
  env.now += 11_000
  t.equal(await get({}, { status: 404 }), '2')
  env.now += 4000
  t.equal(await get(), '2', 'negative')
  env.now += 2000
  t.equal(await get({}, cached('no-store')), '3')
  t.equal(await get(), '4', 'no-store overrides the default')
  const heuristic = open({ heuristic: false })
  const reply = { headers: { 'last-modified': new Date(START_MS - 3_600_000).toUTCString() } }
  await heuristic.get({}, reply)
  t.equal(await heuristic.get({}, reply), '2', 'heuristic: false')
})

t.test('rejects invalid options with the name of the option', (t) => {
  for (const [options, expected] of [
    [{ max_size: 'none' }, /max_size must have a limit/],
    [{ default_ttl: '5' }, /default_ttl must be a duration/],
    [{ max_object: '2mb', max_size: '1mb' }, /max_object must not exceed max_size/],
    [{ negative_ttl: { 404: 'x' } }, /negative_ttl must be a duration/],
  ] as const)
    t.throws(() => createPlugin(plugin, options, createTestEnv()), expected)
  t.end()
})

t.test('private="..." and no-cache="..." omit the listed headers', async (t) => {
  const { send } = open()
  await send(
    {},
    cached('max-age=60, private="x-a", no-cache="x-b, x-c"', {
      'x-a': '1',
      'x-c': '2',
      'x-d': '3',
    }),
  )
  const { forwarded, headers } = await send()
  t.equal(forwarded, false)
  t.strictSame([headers.has('x-a'), headers.has('x-c'), headers.get('x-d')], [false, false, '3'])
})

t.test('follows cache directives of the client', async (t) => {
  for (const [directives, reply, isForwarded] of [
    ['max-age=5', {}, true],
    ['max-age=15', {}, false],
    ['min-fresh=40', {}, false],
    ['min-fresh=55', {}, true],
    ['no-cache', {}, true],
    ['no-store', {}, true],
    ['only-if-cached', {}, false],
  ] as const) {
    const { env, send } = open()
    await send({}, cached('max-age=60'))
    env.now += 10_000
    const { forwarded } = await send({ headers: { 'cache-control': directives } }, reply)
    t.equal(forwarded, isForwarded, directives)
  }
  const { env, send, get } = open()
  await send({}, cached('max-age=60'))
  t.equal(await get({ pragma: 'no-cache' }, cached('max-age=60')), '2')
  env.now += 70_000
  t.equal(await get({ 'cache-control': 'max-stale=5' }, cached('max-age=60')), '3')
  env.now += 70_000
  t.equal(await get({ 'cache-control': 'max-stale=20' }), '3')
  t.equal(await get({ 'cache-control': 'max-stale' }), '3')
  const lazy = open({ client_directives: false })
  await lazy.send({}, cached('max-age=60'))
  t.equal(await lazy.get({ 'cache-control': 'no-cache', pragma: 'no-cache' }), '1')
})

t.test('only-if-cached without a stored response is a 504', async (t) => {
  const { send } = open()
  const { status, forwarded } = await send({ headers: { 'cache-control': 'only-if-cached' } })
  t.strictSame([status, forwarded], [504, false])
})

t.test('validates a stale response and updates it by a 304', async (t) => {
  const { env, send, received } = open()
  const modified = new Date(START_MS - 1000).toUTCString()
  await send({}, cached('max-age=10', { etag: '"a"', 'last-modified': modified, 'x-test': '1' }))
  env.now += 20_000
  const { status, body, headers } = await send(
    { headers: { 'if-none-match': '"other"', range: 'bytes=0-0' } },
    {
      status: 304,
      body: '',
      headers: { etag: '"a"', 'cache-control': 'max-age=30', 'x-test': '2' },
    },
  )
  t.equal(received[1]!.headers['if-none-match'], '"a"')
  t.equal(received[1]!.headers['if-modified-since'], modified)
  t.notOk('range' in received[1]!.headers)
  t.strictSame([status, body, headers.get('x-test')], [206, '1', '2'])
  t.equal(headers.get('cache-status'), 'mx; fwd=stale; fwd-status=304; stored')
  env.now += 20_000
  t.equal((await send()).headers.get('cache-status'), 'mx; hit; ttl=10')
})

t.test('no-cache requires validation of every use', async (t) => {
  const { send } = open()
  await send({}, cached('no-cache, max-age=100', { etag: '"a"' }))
  const { forwarded, body } = await send({}, { status: 304, body: '', ...cached('no-cache') })
  t.strictSame([forwarded, body], [true, '1'])
})

t.test('responds to conditions of the client with 304', async (t) => {
  const modified = new Date(START_MS - 100_000).toUTCString()
  const { send } = open()
  await send(
    {},
    cached('max-age=60', { etag: 'W/"a"', 'last-modified': modified, 'content-type': 'text/css' }),
  )
  for (const [headers, status] of [
    [{ 'if-none-match': '"a"' }, 304],
    [{ 'if-none-match': '"x", W/"a"' }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"b"', 'if-modified-since': modified }, 200],
    [{ 'if-modified-since': modified }, 304],
    [{ 'if-modified-since': new Date(START_MS - 200_000).toUTCString() }, 200],
    [{ 'if-modified-since': 'yesterday' }, 200],
  ] as const) {
    const result = await send({ headers })
    t.equal(result.status, status, JSON.stringify(headers))
    t.equal(result.forwarded, false)
    t.equal(result.headers.has('content-type'), status === 200)
  }
  t.equal((await send({ headers: { 'if-match': '"a"' } })).forwarded, true, 'If-Match')
})

t.test('sends ranges of a stored response', async (t) => {
  const { send } = open()
  await send({}, { ...cached('max-age=60', { etag: '"a"' }), body: '0123456789' })
  for (const [headers, status, body, range] of [
    [{ range: 'bytes=2-3' }, 206, '23', 'bytes 2-3/10'],
    [{ range: 'bytes=8-' }, 206, '89', 'bytes 8-9/10'],
    [{ range: 'bytes=-1' }, 206, '9', 'bytes 9-9/10'],
    [{ range: 'bytes=10-' }, 416, '', 'bytes */10'],
    [{ range: 'bytes=0-1,3-4' }, 200, '0123456789', undefined],
    [{ range: 'lines=0-1' }, 200, '0123456789', undefined],
    [{ range: 'bytes=2-3', 'if-range': '"a"' }, 206, '23', 'bytes 2-3/10'],
    [{ range: 'bytes=2-3', 'if-range': '"b"' }, 200, '0123456789', undefined],
  ] as const) {
    const result = await send({ headers })
    t.strictSame(
      [result.status, result.body, result.headers.get('content-range'), result.forwarded],
      [status, body, range, false],
      JSON.stringify(headers),
    )
  }
})

t.test('Vary selects among the responses for a URI', async (t) => {
  const { get } = open()
  const reply = cached('max-age=60', { vary: 'Accept-Language, X-Test' })
  t.equal(await get({ 'accept-language': 'en, de;q=0.5', 'x-test': ['1', '2'] }, reply), '1')
  t.equal(await get({ 'accept-language': 'fr' }, reply), '2')
  t.equal(await get({ 'accept-language': 'DE; q=0.5,en', 'x-test': '1,2' }), '1', 'equivalent')
  t.equal(await get({ 'accept-language': 'fr' }), '2')
  t.equal(await get({ 'accept-language': 'fr', 'x-test': '' }, reply), '3', 'empty is not missing')
})

t.test('HEAD uses and updates the stored response for GET', async (t) => {
  const { env, send, get } = open()
  await send({}, cached('max-age=60', { etag: '"a"' }))
  const head = await send({ method: 'HEAD' })
  t.strictSame([head.forwarded, head.headers.get('age')], [false, '0'])
  env.now += 70_000
  const reply = { body: '', ...cached('max-age=60', { etag: '"a"' }) }
  t.equal((await send({ method: 'HEAD' }, reply)).forwarded, true)
  t.equal(await get(), '1', 'fresh again')
  env.now += 70_000
  await send({ method: 'HEAD' }, cached('max-age=60', { etag: '"b"' }))
  t.equal(await get(), '4', 'removed')
})

t.test(
  'unsafe methods remove responses for their URI, Location and Content-Location',
  async (t) => {
    const paths = ['/a', '/b?c=1', '/d', '/other']
    const cases: readonly (readonly [number, readonly string[]])[] = [
      [201, ['/a', '/b?c=1', '/d']],
      [500, []],
    ]
    for (const [status, removed] of cases) {
      const { send } = open()
      for (const path of paths) await send({ path }, cached('max-age=60'))
      const headers = { location: '/b?c=1', 'content-location': 'http://localhost/d' }
      await send({ method: 'POST', path: '/a' }, { status, headers })
      for (const path of paths)
        t.equal((await send({ path })).forwarded, removed.includes(path), `${status} ${path}`)
    }
    const { send } = open()
    await send({ path: '/a' }, cached('max-age=60'))
    await send({ method: 'POST', path: '/x' }, { headers: { location: 'http://example.org/a' } })
    t.equal((await send({ path: '/a' })).forwarded, false, 'another origin')
  },
)

t.test('Cache-Group-Invalidation removes the responses of a group', async (t) => {
  const { send } = open()
  await send({ path: '/a' }, cached('max-age=60', { 'cache-groups': '"one", "two"' }))
  await send({ path: '/b' }, cached('max-age=60', { 'surrogate-key': 'two three' }))
  await send({ method: 'POST', path: '/x' }, { headers: { 'cache-group-invalidation': '"three"' } })
  t.equal((await send({ path: '/a' })).forwarded, false)
  t.equal((await send({ path: '/b' })).forwarded, true)
})

t.test('shares responses to authenticated requests only with consent', async (t) => {
  const session = { account: { id: 'a', issuer: 'x' } } as unknown as Session
  for (const credentials of [
    { authorization: 'Basic x' },
    { 'x-user': '1' },
    { 'client-cert': ':x:' },
  ])
    for (const [directives, isShared] of [
      ['max-age=60', false],
      ['public, max-age=60', true],
      ['s-maxage=60', true],
      ['must-revalidate, max-age=60', true],
    ] as const) {
      const { get } = open({}, session)
      await get(credentials, cached(directives))
      const name = `${Object.keys(credentials)[0]}, ${directives}`
      t.equal(await get({}, cached(directives)), isShared ? '1' : '2', name)
      t.equal(await get(credentials, cached(directives)), isShared ? '1' : '3', name)
    }
})

t.test('sends a stale response instead of an error for stale_if_error', async (t) => {
  for (const [options, directives, isStale] of [
    [{}, 'max-age=10', false],
    [{}, 'max-age=10, stale-if-error=60', true],
    [{}, 'max-age=10, stale-if-error=5', false],
    [{ stale_if_error: '1m' }, 'max-age=10', true],
    [{ stale_if_error: '1m' }, 'max-age=10, must-revalidate', false],
    [{ stale_if_error: '1m' }, 's-maxage=10', false],
  ] as const) {
    const { env, send } = open(options)
    await send({}, cached(directives))
    env.now += 20_000
    const { status, body, headers } = await send({}, { status: 503 })
    t.strictSame([status, body], isStale ? [200, '1'] : [503, '2'], directives)
    if (isStale)
      t.equal(headers.get('cache-status'), 'mx; fwd=stale; fwd-status=503; detail=stale-if-error')
  }
})

t.test('max_object and max_size limit memory', async (t) => {
  const { get } = open({ max_object: '1kb', max_size: '2kb' })
  await get({}, { ...cached('max-age=60'), body: 'x'.repeat(1025) })
  t.equal(await get({}, cached('max-age=60')), '2')
  t.equal(await get({}, cached('max-age=60')), '2')
})

t.test('leaves WebSockets, request bodies and fixed responses alone', async (t) => {
  const { send } = open()
  await send({}, cached('max-age=60'))
  t.equal((await send({ body: 'x' })).forwarded, true)
  t.equal((await send({ method: 'OPTIONS' })).forwarded, true)
})
