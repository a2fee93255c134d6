import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import { HeaderList } from '../../../core/http/headers.ts'
import plugin from '../../../plugins/access/oidc.ts'
import { buildPlugin, createTestEnv, createTestExchange, runPlugin } from '../../../sdk/testing.ts'
import { createAccount } from '../../fixtures/auth-source.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { createPair, type OidcIssuer, openOidcIssuer } from '../../fixtures/oidc-issuer.ts'
import { encodePart } from '../../fixtures/token-attacks.ts'

async function open(t: Test, options: object = {}, input?: OidcIssuer) {
  const issuer = input ?? (await openOidcIssuer(t))
  const clock = { offsetMs: 0 }
  const env = { ...createTestEnv(), nowMs: () => Date.now() + clock.offsetMs }
  const oidc = buildPlugin(plugin, { issuer: issuer.issuer, audience: ['app'], ...options }, env)
  t.teardown(() => oidc.close?.())
  const run = (token?: string, scheme = 'Bearer') =>
    runPlugin(oidc, token === undefined ? {} : { headers: { authorization: `${scheme} ${token}` } })
  return { issuer, oidc, run, clock, messages: env.messages }
}

t.test('authenticates a caller by token and removes the token from the request', async (t) => {
  for (const alg of ['ES256', 'RS256', 'PS256', 'EdDSA']) {
    const { issuer, run } = await open(t, {}, await openOidcIssuer(t, alg))
    for (const scheme of ['Bearer', 'bearer']) {
      const { status, x, headers } = await run(await issuer.issue(), scheme)
      t.equal(status, 200, alg)
      t.same(x.account, {
        ...{ id: `${issuer.issuer}#jane`, name: 'Jane', type: 'user', issuer: 'mx', metadata: {} },
        scopes: ['orders', 'read'],
      })
      t.equal(x.headers.get('authorization'), undefined)
      t.equal(headers.get('cache-control'), 'private')
    }
    t.same(issuer.requests, ['/.well-known/openid-configuration', '/keys'], 'keys are cached')
  }
})

t.test('rejects an invalid token', async (t) => {
  const { issuer, run, messages } = await open(t)
  const nowS = Math.floor(Date.now() / 1000)
  const unknownKey = await createPair('ES256', 'one')
  const unlisted = await createPair('ES384', 'one')
  const validToken = await issuer.issue()
  const [head, body, signature] = validToken.split('.') as [string, string, string]
  const text = `${encodePart({ alg: 'HS256', kid: 'one' })}.${body}`
  const hmac = createHmac('sha256', JSON.stringify(issuer.pair.jwk)).update(text)
  const attacks: Record<string, string> = {
    'alg none': `${encodePart({ alg: 'none' })}.${body}.`,
    'alg HS256 with the public key as secret': `${text}.${hmac.digest('base64url')}`,
    'an algorithm that is not listed': await issuer.issue({}, {}, unlisted),
    'another key with a known id': await issuer.issue({}, {}, unknownKey),
    'another key embedded in the token': await issuer.issue(
      {},
      { jwk: unknownKey.jwk },
      unknownKey,
    ),
    'another key to be fetched from a URL': await issuer.issue(
      {},
      { jku: 'http://127.0.0.1:1/k' },
      unknownKey,
    ),
    'an unknown key': await issuer.issue({}, { kid: 'other' }),
    'kid as a path': await issuer.issue({}, { kid: '../../one' }),
    'another issuer': await issuer.issue({ iss: 'https://evil.test' }),
    'the issuer with a slash': await issuer.issue({ iss: `${issuer.issuer}/` }),
    'no issuer': await issuer.issue({ iss: undefined }),
    'another audience': await issuer.issue({ aud: 'other' }),
    'no audience': await issuer.issue({ aud: undefined }),
    expired: await issuer.issue({ exp: nowS - 60 }),
    'without expiry': await issuer.issue({ exp: undefined }),
    'not yet valid': await issuer.issue({ nbf: nowS + 120 }),
    'no subject': await issuer.issue({ sub: undefined }),
    'a subject that is a number': await issuer.issue({ sub: 1 }),
    'claims that differ from the signed ones': `${head}.${encodePart({ iss: issuer.issuer, aud: 'app', sub: 'admin', exp: nowS + 60 })}.${signature}`,
    'two parts': `${head}.${body}`,
    'no JSON': 'e30.e30.e30',
    'no base64url': 'a+b.c.d',
    oversized: await issuer.issue({ pad: 'x'.repeat(20_000) }),
  }
  t.equal((await run(validToken)).status, 200)
  for (const [description, token] of Object.entries(attacks)) {
    const { status, headers, body, forwarded } = await run(token)
    t.equal(status, 401, description)
    t.equal(headers.get('www-authenticate'), 'Bearer error="invalid_token"')
    t.match(JSON.parse(body), {
      Id: 'test',
      Detail: /(?:^|: )invalid or expired access token; log in again$/,
    })
    t.notOk(forwarded)
  }
  t.ok(messages.every((message) => message === 'info: invalid access token'))
  const notifications = messages.length
  await run(attacks['expired'])
  t.equal(messages.length, notifications, 'each error is logged once')
  t.ok(issuer.requests.length <= 4, 'unknown keys are fetched at a limited rate')
})

t.test('tolerates a clock difference of 30 s', async (t) => {
  const { issuer, run } = await open(t)
  const nowS = Math.floor(Date.now() / 1000)
  t.equal((await run(await issuer.issue({ exp: nowS - 20 }))).status, 200)
  t.equal((await run(await issuer.issue({ nbf: nowS + 20 }))).status, 200)
})

t.test('expires a cached token', async (t) => {
  const { issuer, run, clock } = await open(t)
  const token = await issuer.issue()
  t.equal((await run(token)).status, 200)
  clock.offsetMs = 331_000
  t.equal((await run(token)).status, 401)
})

t.test('responds with 401 without a token unless required is false', async (t) => {
  const { run, issuer } = await open(t)
  const { status, headers, body } = await run()
  t.equal(status, 401)
  t.equal(headers.get('www-authenticate'), 'Bearer')
  t.match(JSON.parse(body), { Detail: `access token from ${issuer.issuer} required` })
  const optional = await open(t, { required: false })
  t.equal((await optional.run()).status, 200)
  t.equal((await optional.run('a.b.c')).status, 401, 'an invalid token is rejected')
  t.equal((await optional.run('eA==', 'Basic')).status, 200, 'other schemes are ignored')
})

t.test('accepts a caller authenticated by another plugin', async (t) => {
  const { oidc } = await open(t)
  const other = {
    name: 'other',
    onRequest(x: { session: unknown }) {
      x.session = {
        account: createAccount(),
        id: '',
        issuedMs: 0,
        endsMs: Number.POSITIVE_INFINITY,
      }
    },
  }
  const headers = { authorization: 'Bearer a.b.c' }
  for (const plugins of [
    [other, oidc],
    [oidc, other],
  ])
    t.equal((await runPlugin(plugins, { headers })).status, 200)
})

t.test('finds new keys and rejects tokens of removed keys', async (t) => {
  const { issuer, run, clock } = await open(t)
  const first = await issuer.issue()
  t.equal((await run(first)).status, 200)
  const next = await createPair('ES256', 'two')
  issuer.keys = [next.jwk]
  const second = await issuer.issue({}, {}, next)
  t.equal((await run(second)).status, 401, 'the issuer has just been queried')
  clock.offsetMs = 31_000
  t.equal((await run(second)).status, 200)
  t.equal((await run(first)).status, 401)
})

t.test(
  'uses cached keys while the issuer is unreachable, and responds with 503 if no keys are cached',
  async (t) => {
    const { issuer, run, clock, messages } = await open(t)
    issuer.failing = 500
    const { status, headers } = await run(await issuer.issue())
    t.equal(status, 503)
    t.equal(headers.get('retry-after'), '5')
    t.same(messages, ['warn: cannot fetch the signing keys of the issuer'])
    issuer.failing = 0
    clock.offsetMs = 31_000
    t.equal((await run(await issuer.issue())).status, 200)
    issuer.failing = 500
    clock.offsetMs = 260_000
    t.equal((await run(await issuer.issue())).status, 200)
    t.equal(messages.at(-1), 'info: signing keys available again')
  },
)

t.test('rejects a discovery document of another issuer', async (t) => {
  const rows: [string, (issuer: OidcIssuer) => void][] = [
    ['of another issuer', (issuer) => (issuer.discovery = { ...issuer.discovery, issuer: 'x' })],
    ['without keys', (issuer) => (issuer.discovery = { issuer: issuer.issuer })],
    ['keys over http', (issuer) => (issuer.discovery['jwks_uri'] = 'http://192.0.2.1/keys')],
    ['keys in a file', (issuer) => (issuer.discovery['jwks_uri'] = 'file:///etc/passwd')],
    [
      'keys that require a password',
      (issuer) => (issuer.discovery['jwks_uri'] = 'https://a:b@c.test'),
    ],
    ['sent elsewhere', (issuer) => (issuer.redirect = `${issuer.issuer}/keys`)],
    ['no key set', (issuer) => ((issuer as { keys: unknown }).keys = 'all')],
  ]
  for (const [description, corrupt] of rows) {
    const { issuer, run } = await open(t)
    corrupt(issuer)
    t.equal((await run(await issuer.issue())).status, 503, description)
  }
})

t.test('fetches keys from the configured jwksUri', async (t) => {
  const issuer = await openOidcIssuer(t)
  const { run } = await open(t, { jwksUri: `${issuer.issuer}/keys` }, issuer)
  t.equal((await run(await issuer.issue())).status, 200)
  t.same(issuer.requests, ['/keys'])
})

t.test('rejects invalid options at startup', async (t) => {
  const audience = ['app']
  for (const issuer of ['http://id.example.com', 'ftp://id.example.com', 'id.example.com', ''])
    t.throws(() => buildPlugin(plugin, { issuer, audience }), {
      message: /issuer must be an https:\/\/ URL/,
    })
  const issuer = 'https://id.example.com'
  t.throws(() => buildPlugin(plugin, { issuer, audience, jwksUri: 'http://192.0.2.1/keys' }), {
    message: /jwksUri must be an https:\/\/ URL/,
  })
  t.throws(() => buildPlugin(plugin, { issuer }), { message: /audience/ })
  t.throws(() => buildPlugin(plugin, { issuer, audience: [] }), { message: /audience/ })
  for (const algorithm of ['none', 'HS256'])
    t.throws(() => buildPlugin(plugin, { issuer, audience, algorithms: [algorithm] }))
  t.throws(() => buildPlugin(plugin, { issuer, audience, scope: 'a' }), { message: /scopes/ })
})

t.test('ends a stream when its token expires', async (t) => {
  const { issuer, oidc, clock } = await open(t)
  const x = createTestExchange({ headers: { authorization: `Bearer ${await issuer.issue()}` } })
  await oidc.onRequest!(x)
  x.route = { service: 'app', endpoint: '' }
  await oidc.onRoute!(x)
  const chain = { ...x.chain, onReply: [oidc.onReply!], onDone: [oidc.onDone!] }
  x.begin(
    chain,
    () => {},
    (error) => t.fail(String(error)),
  )
  x.start(200, new HeaderList(), -1)
  keepAlive(t)
  clock.offsetMs = 331_000
  await x.done
  t.ok(x.wasCut)
})
