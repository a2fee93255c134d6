import t from 'tap'
import plugin from '../../../plugins/access/cors.ts'
import { buildPlugin, runPlugin } from '../../../sdk/testing.ts'

const APP = 'https://app.example.com'
const withOrigins = buildPlugin(plugin, {
  origins: [APP, 'https://*.shop.example'],
  credentials: true,
  expose: ['ETag'],
})

function preflight(origin: string) {
  return { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'PUT' } }
}

t.test('allows every origin without credentials by default', async (t) => {
  const { headers } = await runPlugin(buildPlugin(plugin), {
    headers: { origin: 'https://any.example' },
  })
  t.same(headers.flat, ['access-control-allow-origin', '*'])
})

t.test('responds to a preflight without the backend, with the configured lists', async (t) => {
  const { status, headers, forwarded, body } = await runPlugin(
    buildPlugin(plugin),
    preflight('https://any.example'),
  )
  t.equal(status, 204)
  t.equal(body, '')
  t.notOk(forwarded)
  t.equal(headers.get('access-control-allow-origin'), '*')
  t.equal(headers.get('access-control-allow-methods'), 'POST, PATCH, GET, OPTIONS, PUT, DELETE')
  t.equal(
    headers.get('access-control-allow-headers'),
    'Accept, Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, Mx-Namespace, Connect-Protocol-Version, Connect-Timeout-Ms, Grpc-Timeout, X-Grpc-Web, X-User-Agent',
  )
  t.equal(headers.get('access-control-max-age'), '600')
  t.notOk(headers.has('access-control-allow-credentials'))
})

t.test('forwards an OPTIONS request that is not a preflight', async (t) => {
  t.ok((await runPlugin(withOrigins, { method: 'OPTIONS', headers: { origin: APP } })).forwarded)
  t.ok(
    (
      await runPlugin(withOrigins, {
        method: 'OPTIONS',
        headers: { 'access-control-request-method': 'PUT' },
      })
    ).forwarded,
  )
})

t.test('echoes a listed origin, with credentials if allowed, including on errors', async (t) => {
  for (const origin of [APP, 'https://a.shop.example', 'https://a.b.shop.example']) {
    const { headers } = await runPlugin(
      withOrigins,
      { headers: { origin } },
      { reply: { status: 502 } },
    )
    t.equal(headers.get('access-control-allow-origin'), origin)
    t.equal(headers.get('access-control-allow-credentials'), 'true')
    t.equal(headers.get('access-control-expose-headers'), 'ETag')
    t.equal(headers.get('vary'), 'Origin')
  }
  const { headers } = await runPlugin(withOrigins, preflight(APP))
  t.equal(headers.get('access-control-allow-origin'), APP)
  t.equal(headers.get('access-control-allow-credentials'), 'true')
})

t.test('sends no CORS headers to an unlisted origin', async (t) => {
  const otherOrigins = [
    'null',
    'https://evil.example',
    'http://app.example.com',
    'https://app.example.com.evil.example',
    'https://app.example.com:8443',
    'https://evilshop.example',
    'https://shop.example',
    'https://.shop.example',
    'https://evil.example/.shop.example',
    'https://evil.example#.shop.example',
    'https://user@a.shop.example',
    'https://a.shop.example:8443',
    'HTTPS://APP.EXAMPLE.COM',
    '',
  ]
  for (const origin of otherOrigins) {
    const { headers } = await runPlugin(withOrigins, { headers: { origin } })
    t.same(headers.flat, ['vary', 'Origin'], origin)
    const response = await runPlugin(withOrigins, preflight(origin))
    t.equal(response.status, 204)
    t.same(response.headers.flat, ['vary', 'Origin'], `preflight from ${origin}`)
  }
})

t.test('varies the response to a request without an origin by Origin', async (t) => {
  t.same((await runPlugin(withOrigins)).headers.flat, ['vary', 'Origin'])
})

t.test('retains Vary of the backend without duplicates', async (t) => {
  const vary = async (value: string | string[]) =>
    (
      await runPlugin(
        withOrigins,
        { headers: { origin: APP } },
        { reply: { headers: { vary: value } } },
      )
    ).headers.getAll('vary')
  t.same(await vary('Accept-Encoding'), ['Accept-Encoding', 'Origin'])
  t.same(await vary('accept, ORIGIN'), ['accept, ORIGIN'])
  t.same(await vary('*'), ['*'])
})

t.test('replaces CORS headers of the backend that contradict the preflight', async (t) => {
  for (const allowOrigin of ['*', 'https://own.example', APP]) {
    const reply = {
      headers: {
        'Access-Control-Allow-Origin': allowOrigin,
        'Access-Control-Allow-Credentials': 'true',
        'Access-Control-Expose-Headers': 'X-Own',
      },
    }
    const allowed = (await runPlugin(withOrigins, { headers: { origin: APP } }, { reply })).headers
    t.same(allowed.getAll('access-control-allow-origin'), [APP])
    t.same(allowed.getAll('access-control-allow-credentials'), ['true'])
    t.same(allowed.getAll('access-control-expose-headers'), ['X-Own'])
    const open = (await runPlugin(buildPlugin(plugin), { headers: { origin: APP } }, { reply }))
      .headers
    t.same(open.getAll('access-control-allow-origin'), ['*'])
    t.notOk(open.has('access-control-allow-credentials'))
    const foreignOrigin = { headers: { origin: 'https://evil.example' } }
    const denied = (await runPlugin(withOrigins, foreignOrigin, { reply })).headers
    t.notOk(denied.has('access-control-allow-origin'))
    t.notOk(denied.has('access-control-allow-credentials'))
  }
})

t.test('allows no origin with an empty list', async (t) => {
  const { headers } = await runPlugin(buildPlugin(plugin, { origins: [] }), {
    headers: { origin: APP },
  })
  t.same(headers.flat, ['vary', 'Origin'])
})

t.test('rejects credentials combined with any origin at startup', async (t) => {
  t.throws(
    () => buildPlugin(plugin, { credentials: true }),
    /credentials require a list of origins/,
  )
  t.throws(
    () => buildPlugin(plugin, { origins: [APP, '*'], credentials: true }),
    /credentials require a list of origins/,
  )
})

t.test('rejects an entry that is not an origin', async (t) => {
  for (const origin of [
    'null',
    'app.example.com',
    'https://app.example.com/',
    'https://*',
    'https://a.*.b',
    'https://*a.b',
    '',
  ]) {
    t.throws(
      () => buildPlugin(plugin, { origins: [origin] }),
      /origins must be like https:\/\/app\.example\.com/,
      origin,
    )
  }
})
