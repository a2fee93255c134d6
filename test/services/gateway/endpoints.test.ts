import t from 'tap'
import { openClient } from '../../fixtures/sdk-services.ts'
import { openServer } from '../../fixtures/server.ts'

const READER = { id: 'ann', secret: 'a long enough secret', scopes: ['reader'] }

t.test('Api.Stats streams the history, then one point per second', async (t) => {
  const { get, proxy, token } = await openServer(t)
  t.equal((await get('/unknown/call')).status, 404)
  const client = openClient(t, { proxy, token })
  const stats = client.stream<unknown, { points: Record<string, number>[] }>('api', 'Api.Stats', {})
  const totals = { requests: 0, status_4xx: 0 }
  for await (const { points } of stats) {
    for (const point of points) {
      totals.requests += point['requests']!
      totals.status_4xx += point['status_4xx']!
      if (point['requests']! > 0) t.ok(point['p99_ms']! > 0)
    }
    if (totals.status_4xx > 0) break
  }
  t.equal(totals.status_4xx, 1)
  t.ok(totals.requests >= 1)
})

t.test(
  'Api.Services returns rate, errors and latency of each service, to accounts only',
  async (t) => {
    const { get } = await openServer(t)
    for (let i = 0; i < 3; i++) await get('/registry/listServices')
    const { services } = (await get('/api/services')).body
    const registry = services.find(({ service }: { service: string }) => service === 'registry')
    t.match(registry, {
      error_share: 0,
      requests_per_second: Number,
      p50_ms: Number,
      p99_ms: Number,
    })
    t.ok(registry.requests_per_second > 0)
    t.equal((await get('/api/services', { authorization: '' })).status, 401)
  },
)

t.test('Api.Requests lists failed requests without their queries, to accounts only', async (t) => {
  const { get } = await openServer(t, ['--backend=site=127.0.0.1:1'])
  t.equal((await get('/registry/listServices')).status, 200)
  t.equal((await get('/unknown/call?token=secret')).status, 404)
  t.equal((await get('/site/')).status, 502)
  const { requests } = (await get('/api/requests')).body
  t.match(requests, [
    { path: '/site/', status: 502, service: 'site', error: /ECONNREFUSED|refused/, id: /./ },
    {
      ...{ method: 'GET', path: '/unknown/call', status: 404, service: '', error: '' },
      ...{ duration_ms: Number, time: Number, rpc_status: -1, trace_id: '' },
    },
  ])
  t.equal(requests.length, 2)
  t.equal((await get('/api/requests', { authorization: '' })).status, 401)
})

t.test('Api.Routes lists routes in pages, with routes of configured services', async (t) => {
  const { get } = await openServer(t, ['--backend=site=127.0.0.1:1'])
  const { body } = await get('/api/routes')
  t.match(body, { handler: 'meta', resolver: 'endpoint', namespace: '', left_out: [] })
  const find = (service: string, path: string) =>
    body.routes.find((route: typeof body) => route.service === service && route.path === path)
  t.match(find('registry', '/registry/listServices'), {
    ...{ endpoint: 'Registry.ListServices', handler: 'rpc', declared: false },
  })
  t.ok(find('site', '/site[/*][/*]'), 'including services of the configuration')
  const page = (await get('/api/routes?limit=1')).body
  t.equal(page.next, 'api')
  t.ok(page.routes.every(({ service }: { service: string }) => service === 'api'))
  t.match((await get('/api/routes?limit=0')).status, 400)
})

t.test('Api.Plugins lists the plugins in their order with options', async (t) => {
  const { get } = await openServer(t)
  const { plugins } = (await get('/api/plugins')).body
  const names = plugins.map(({ name }: { name: string }) => name)
  t.strictSame(
    names.filter((name: string) => ['request-id', 'auth', 'body-limit'].includes(name)),
    ['request-id', 'auth', 'body-limit'],
  )
  t.match(
    plugins.find(({ name }: { name: string }) => name === 'auth'),
    {
      ...{ specifier: 'auth', source: 'default plugin', description: String },
      ...{ hooks: ['onRequest', 'onRoute'], options: { forwardToken: Boolean } },
    },
  )
})

t.test(
  'Api.Explain returns route, account and access decision of a request, and rejects a malformed one with 400',
  async (t) => {
    const { post, token } = await openServer(t)
    const sendRequest = async (request: object) => (await post('/api/explain', request)).body
    t.match(await sendRequest({ path: '/registry/listServices' }), {
      ...{
        account: '',
        why: '',
        route: { service: 'registry', endpoint: 'Registry.ListServices' },
      },
      rulings: [
        { granted: true, rule: 'default', resource: 'service:registry:Registry.ListServices' },
      ],
      sent_to: /./,
    })
    t.match(await sendRequest({ method: 'post', path: '/registri/x' }), {
      ...{ sent_to: '', answer: { status: 404, detail: 'service not found: registri' } },
      why: /^did you mean registry\?/,
    })
    const headers = { Authorization: `Bearer ${token}` }
    t.match(await sendRequest({ path: '/store/list', headers }), { account: 'admin' })
    t.match(await sendRequest({ path: '/store/list', as_caller: true }), { account: 'admin' })
    t.match(
      await sendRequest({
        path: '/store/list',
        headers: { AUTHORIZATION: 'Bearer x' },
        as_caller: true,
      }),
      {
        answer: { status: 401 },
      },
    )
    t.match(await sendRequest({ path: '/x', headers: { Host: 'evil' } }), { stages: Array })
    for (const [request, detail] of [
      [{}, /^request\.path is missing$/],
      [{ path: 'x' }, /^request\.path must/],
      [{ path: '/a b' }, /^request\.path must/],
      [{ method: 'G T', path: '/' }, /^request\.method must/],
      [{ path: '/', headers: { 'a b': 'c' } }, /^request\.headers: /],
      [{ path: '/', headers: { a: 'b\nc' } }, /^request\.headers: /],
    ] as const)
      t.match(await sendRequest(request), { Code: 400, Detail: detail })
  },
)

t.test(
  'members read statistics and routes, and only administrators read the rest (reference 15.15)',
  async (t) => {
    const { get, post, url } = await openServer(t)
    const { id, secret, scopes } = READER
    t.equal((await post('/auth/generate', { id, secret, scopes })).status, 200)
    const { body } = await post('/auth/token', { id, secret }, { authorization: '' })
    const reader = { authorization: `Bearer ${body.token.access_token}` }
    const anonymous = { authorization: '' }
    t.ok(url)
    t.equal((await get('/api/routes', reader)).status, 200)
    t.match(await get('/api/routes', anonymous), {
      ...{ status: 401, body: { Id: 'api.Api.Routes', Detail: 'An account is required' } },
    })
    t.match(await get('/api/stats', anonymous), { status: 401 })
    for (const path of ['/api/plugins', '/api/explain?path=/x'])
      t.match(
        await get(path, reader),
        { status: 401, body: { Detail: /^Permission denied: .* requires the scope admin/ } },
        path,
      )
  },
)
