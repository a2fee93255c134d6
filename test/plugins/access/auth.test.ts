import { hash } from 'node:crypto'
import t, { type Test } from 'tap'
import { createAuthorizer } from '../../../core/auth/authorizer.ts'
import { createApiKey } from '../../../core/auth/token/api-key.ts'
import type { Plugin } from '../../../core/chain.ts'
import type { Rule } from '../../../core/contracts/auth.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import { toRoute } from '../../../core/route.ts'
import { formatContext } from '../../../core/rpc/context-headers.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import apiKeys from '../../../plugins/access/api-keys.ts'
import plugin from '../../../plugins/access/auth.ts'
import cors from '../../../plugins/access/cors.ts'
import { buildPlugin, createTestEnv, runPlugin, type TestRequest } from '../../../sdk/testing.ts'
import { createAccount, createRule } from '../../fixtures/auth-source.ts'
import { openAuthorizer, type TestAuthorizer } from '../../fixtures/authorizer.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { listTokenAttacks } from '../../fixtures/token-attacks.ts'

const JANE = createAccount({ id: 'jane', scopes: ['staff'] })
const MEMBERS = createRule({ id: 'members', scope: '*' })
/** SHA-256 hash of `a key`. */
const DIGEST = hash('sha256', 'a key')
const LOGIN = createRule({ id: 'login', resource: 'service:auth:*' })

interface Opened extends TestAuthorizer {
  readonly auth: Plugin
  /** A request to an endpoint of the `greeter` service, with these options. */
  readonly run: (
    request?: TestRequest,
    options?: Parameters<typeof runPlugin>[2] & { domain?: string; topic?: boolean },
  ) => ReturnType<typeof runPlugin>
}

async function open(t: Test, rules: readonly Rule[], options: object = {}): Promise<Opened> {
  const authorizer = await openAuthorizer(t, ...rules)
  const env = { ...createTestEnv(), nowMs: Date.now, authorizer: authorizer.authorizer }
  const auth = buildPlugin(plugin, options, env)
  t.teardown(() => auth.close?.())
  const run: Opened['run'] = (request = {}, { domain = 'mx', topic = false, ...rest } = {}) => {
    const { route = toRoute('greeter', 'Greeter.Hello') } = rest
    const createPool = () => {
      throw new Error('not called')
    }
    const first: Plugin = {
      name: 'routed',
      onRoute(x) {
        if (!topic) x.upstream = new Upstream(route.service, { createPool, domain })
      },
    }
    return runPlugin([first, auth], request, { ...rest, route })
  }
  return { ...authorizer, auth, run }
}

const bearer = (token: string): TestRequest => ({ headers: { authorization: `Bearer ${token}` } })

t.test('fails without access rules', async (t) => {
  t.throws(() => buildPlugin(plugin), { message: /--auth=mx:/ })
})

t.test('allows anonymous calls that the rules grant to everyone', async (t) => {
  const { run } = await open(t, [])
  const { status, x } = await run()
  t.equal(status, 200)
  t.equal(x.session, undefined)
  t.notMatch(formatContext(x), 'mx-account')
})

t.test('responds with 401 and an error body to a denied call', async (t) => {
  const { run, issue } = await open(t, [createRule({ scope: 'admin' })])
  const call = 'Unauthorized call made to greeter:Greeter.Hello'
  const rows: [TestRequest, string, string][] = [
    [{}, 'Bearer', call],
    [
      bearer(await issue(JANE)),
      'Bearer error="insufficient_scope", scope="admin"',
      `${call}: requires the scope admin`,
    ],
    [{ headers: { authorization: 'Basic eA==' } }, 'Bearer', call],
  ]
  for (const [request, challenge, detail] of rows) {
    const { status, headers, body, forwarded } = await run(request)
    t.equal(status, 401)
    t.strictSame(JSON.parse(body), {
      Id: 'greeter',
      Code: 401,
      Detail: detail,
      Status: 'Unauthorized',
    })
    t.equal(headers.get('www-authenticate'), challenge)
    t.equal(headers.get('cache-control'), 'no-store')
    t.notOk(forwarded)
  }
})

t.test(
  'authenticates a caller by token, case-insensitive scheme, and sends the account to services',
  async (t) => {
    const { run, issue } = await open(t, [MEMBERS])
    const token = await issue(JANE)
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer  ']) {
      const { status, x } = await run({ headers: { authorization: `${scheme} ${token}` } })
      t.equal(status, 200, scheme)
      t.same(x.account, JANE)
      const context = formatContext(x)
      t.match(context, `\r\nmx-account: ${JSON.stringify(JANE)}\r\n`)
      t.match(context, token, 'a service may forward the token')
    }
  },
)

t.test('rejects an invalid token even where anonymous calls are allowed', async (t) => {
  const { run, source } = await open(t, [])
  const { validToken, attacks } = listTokenAttacks(source.key, Math.floor(Date.now() / 1000))
  t.equal((await run(bearer(validToken))).status, 200)
  for (const [description, token] of Object.entries(attacks)) {
    if (token.includes('\0')) continue
    const { status, body, headers, thrown, forwarded } = await run(bearer(token))
    t.equal(status, 401, description)
    t.notOk(forwarded)
    t.match(JSON.parse(body), {
      Id: 'greeter',
      Detail:
        'Unauthorized call made to greeter:Greeter.Hello: invalid or expired access token; log in again',
    })
    t.equal(headers.get('www-authenticate'), 'Bearer error="invalid_token"')
    t.match(thrown, { name: 'GatewayError' }, 'the denial is not logged as a fault')
  }
})

t.test('allows login with an expired token', async (t) => {
  const { run } = await open(t, [MEMBERS, LOGIN])
  for (const endpoint of ['Auth.Token', 'Auth.Keys']) {
    const { status, x } = await run(bearer('a.b.c'), { route: toRoute('auth', endpoint) })
    t.equal(status, 200, endpoint)
    t.equal(x.account, undefined)
    t.equal(x.headers.get('mx-address'), '127.0.0.1')
  }
  t.equal((await run(bearer('a.b.c'), { route: toRoute('auth', 'Auth.Generate') })).status, 401)
  t.equal((await run(bearer('a.b.c'), { route: toRoute('other', 'Auth.Token') })).status, 401)
})

t.test('responds with 400 to ambiguous headers', async (t) => {
  const { run, issue } = await open(t, [])
  const token = await issue(JANE)
  const rows: [TestRequest, RegExp][] = [
    [{ headers: { authorization: [`Bearer ${token}`, `Bearer ${token}`] } }, /Authorization/],
    [{ headers: { authorization: ['Basic eA==', `Bearer ${token}`] } }, /Authorization/],
    [{ headers: { 'mx-namespace': ['mx', 'acme'] } }, /Mx-Namespace/],
    [{ headers: { 'mx-namespace': '../mx' } }, /Mx-Namespace/],
    [{ headers: { 'mx-namespace': '__proto__' } }, /Mx-Namespace/],
  ]
  for (const [request, invalid] of rows) {
    const { status, body, forwarded } = await run(request)
    t.equal(status, 400)
    t.match(JSON.parse(body).Detail, invalid)
    t.notOk(forwarded)
  }
})

t.test('accepts no cookie as a credential, regardless of the sending page', async (t) => {
  const { run, issue } = await open(t, [MEMBERS])
  const token = await issue(JANE)
  const cookies = ['mx-token', 'mx-dashboard', '__Host-mx-dashboard', 'authorization'].map(
    (name) => `${name}=${token}`,
  )
  for (const cookie of [...cookies, cookies.join('; ')])
    for (const page of [
      {},
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
      { origin: 'http://localhost' },
    ]) {
      const { x, status } = await run({ headers: { cookie, ...page } })
      t.equal(status, 401, cookie)
      t.equal(x.account, undefined)
    }
  const { x } = await run({ headers: { cookie: cookies.join('; '), ...bearer(token).headers } })
  t.same(x.account, JANE, 'cookies do not affect Authorization')
})

t.test('applies the rules of the namespace, and the rules of mx to services of mx', async (t) => {
  const { run, source, issue } = await open(t, [MEMBERS])
  const jane = await issue(JANE)
  const joe = await issue(createAccount({ id: 'joe', issuer: 'acme' }))
  const call = async (token: string, namespace: string, domain: string): Promise<number> => {
    const headers = { ...bearer(token).headers, 'mx-namespace': namespace }
    return (await run({ headers }, { domain })).status
  }
  t.equal(await call(jane, '', 'mx'), 200)
  t.equal(await call(jane, 'mx', 'mx'), 200)
  t.equal(await call(joe, 'mx', 'mx'), 401)
  t.equal(await call(joe, 'acme', 'mx'), 401, 'a namespace without rules grants no access')
  t.equal(await call(joe, 'acme', 'acme'), 200)
  source.setRules('acme', MEMBERS)
  await t.resolves(poll(async () => (await call(jane, 'acme', 'acme')) === 401))
  t.equal(await call(joe, 'acme', 'acme'), 200)
})

t.test('treats an account of another namespace as anonymous', async (t) => {
  const rules = [createRule({ id: 'known', scope: '+' })]
  const { auth, run, issue } = await open(t, rules, { forwardAccount: true })
  const joe = createAccount({ id: 'joe', issuer: 'acme', scopes: ['admin'] })
  const token = await issue(joe)
  const withApiKeys = buildPlugin(apiKeys, { keys: [`joe ${DIGEST} admin`], namespace: 'acme' })
  for (const [namespace, isForwarded] of [
    ['', false],
    ['mx', false],
    ['acme', true],
  ] as const) {
    const namespaceHeader = namespace === '' ? {} : { 'mx-namespace': namespace }
    const authenticated = await run({ headers: { ...bearer(token).headers, ...namespaceHeader } })
    const request = { headers: { 'x-api-key': 'a key', ...namespaceHeader } }
    const withKey = await runPlugin([auth, withApiKeys], request)
    for (const { status, x } of [authenticated, withKey]) {
      t.equal(status, 200, 'the account is known to rules and plugins')
      t.equal(x.account?.id, 'joe')
      t.equal(
        formatContext(x).includes('mx-account: {"id":"joe"'),
        isForwarded,
        `a service, ${namespace}`,
      )
      x.beforeProxy?.(x)
      t.equal(x.headers.has('mx-account'), isForwarded, `a backend, ${namespace}`)
    }
  }
})

t.test('matches rules against the canonical form of a proxied path', async (t) => {
  const deny = createRule({ id: 'no', access: 'DENIED', resource: 'service:app:/app/admin/*' })
  const { run } = await open(t, [createRule(), deny])
  const get = async (path: string): Promise<number> =>
    (await run({ path }, { route: toRoute('app', '') })).status
  t.equal(await get('/app/public'), 200)
  for (const path of [
    '/app/admin',
    '/app/admin/x',
    '/app/%61dmin/x',
    '//app//admin/x',
    '/app;a/admin;b/x',
    '/APP/Admin/x',
  ])
    t.equal(await get(path), 401, path)
})

t.test('matches a rule for a path in any spelling, with or without trailing slash', async (t) => {
  const rules = [
    '/app/%61dmin',
    '//app/secret/',
    '/app/v1%3Abatch',
    '/app/a;v=1/*',
    '/app/caf%C3%A9',
  ].map((path) => createRule({ id: path, access: 'DENIED', resource: `service:app:${path}` }))
  const { run } = await open(t, [createRule(), ...rules])
  const get = async (path: string): Promise<number> =>
    (await run({ path }, { route: toRoute('app', '') })).status
  for (const path of [
    '/app/admin',
    '/app/admin/',
    '/app/secret',
    '/app/secret/',
    '/app/%73ecret//',
  ])
    t.equal(await get(path), 401, path)
  for (const path of ['/app/v1:batch', '/app/a/x', '/app/a/', '/app/a', '/app/caf%c3%a9'])
    t.equal(await get(path), 401, path)
  for (const path of ['/app', '/app/', '/app/admin/x', '/app/ab'])
    t.equal(await get(path), 200, path)
})

t.test('authorizes events of a topic as their own resource type', async (t) => {
  const { run } = await open(t, [createRule({ resource: 'topic:orders:*' })])
  const status = async (route: ReturnType<typeof toRoute>, topic: boolean) =>
    (await run({}, { route, topic })).status
  t.equal(await status(toRoute('orders', 'created'), true), 200)
  t.equal(await status(toRoute('users', 'created'), true), 401)
  t.equal(await status(toRoute('orders', 'Orders.List'), false), 401)
})

t.test('hides token and account from backends unless they are forwarded', async (t) => {
  const proxied = async (request: TestRequest) => {
    const { run } = opened
    const { x } = await run(request, {
      handle: (x) => {
        x.beforeProxy?.(x)
        x.reply(200)
      },
    })
    return { authorization: x.headers.get('authorization'), account: x.headers.get('mx-account') }
  }
  let opened = await open(t, [])
  let token = await opened.issue(JANE)
  t.same(await proxied(bearer(token)), { authorization: undefined, account: undefined })
  const basic = { headers: { authorization: 'Basic eA==' } }
  t.equal((await proxied(basic)).authorization, 'Basic eA==', 'other credentials are forwarded')
  opened = await open(t, [], { forwardToken: true, forwardAccount: true })
  token = await opened.issue(JANE)
  const { authorization, account } = await proxied(bearer(token))
  t.equal(authorization, `Bearer ${token}`)
  t.same(JSON.parse(account!), JANE)
  t.equal((await proxied({})).account, undefined)
})

t.test('authenticates an API key in either header and hides it from backends', async (t) => {
  const { run, source } = await open(t, [MEMBERS])
  const key = createApiKey('00112233445566ff')
  source.addApiKey(key, JANE)
  for (const headers of [{ 'x-api-key': key }, { authorization: `Bearer ${key}` }]) {
    const { status, x } = await run({ headers })
    t.equal(status, 200)
    t.match(x.account, { id: 'jane', apiKey: '00112233445566ff' })
    t.equal(x.headers.get('authorization'), `Bearer ${key}`, 'services call others with the key')
    t.notOk(x.headers.has('x-api-key'))
    x.beforeProxy?.(x)
    t.notOk(x.headers.has('authorization'))
  }
  const basic = { headers: { authorization: 'Basic eA==', 'x-api-key': key } }
  const { x } = await run(basic)
  x.beforeProxy?.(x)
  t.equal(x.headers.get('authorization'), 'Basic eA==')
  t.equal((await run({ headers: { 'x-api-key': 'of the backend' } })).status, 401, 'anonymous')
})

t.test('rejects an unknown API key with 401 and its own message', async (t) => {
  const { run } = await open(t, [])
  for (const text of [createApiKey('00112233445566ff'), 'mxk_'])
    t.match(await run({ headers: { 'x-api-key': text } }), {
      status: 401,
      body: /Unauthorized call made to greeter:Greeter.Hello: unknown, expired or deleted API key/,
    })
})

t.test('leaves keys stored in auth to the auth plugin if api-keys is listed, too', async (t) => {
  const { auth, source } = await open(t, [MEMBERS])
  const authorizer = createAuthorizer(source)
  t.teardown(authorizer.close)
  const keys = buildPlugin(
    apiKeys,
    { keys: [`shop ${DIGEST}`] },
    { ...createTestEnv(), authorizer },
  )
  const key = createApiKey('00112233445566ff')
  source.addApiKey(key, JANE)
  const send = (value: string) => runPlugin([keys, auth], { headers: { 'x-api-key': value } })
  t.match((await send(key)).x.account, { id: 'jane' })
  t.match((await send('a key')).x.account, { id: 'shop' })
  t.equal((await send(createApiKey('00112233445566ff'))).status, 401)
})

t.test('marks responses that required a token as private for caches', async (t) => {
  const reply = { headers: { 'cache-control': 'public, max-age=60' } }
  const members = await open(t, [MEMBERS])
  const token = await members.issue(JANE)
  const { headers } = await members.run(bearer(token), { reply })
  t.equal(headers.get('cache-control'), 'max-age=60, private')
  t.equal(headers.get('vary'), 'authorization')
  const all = await open(t, [])
  for (const request of [{}, bearer(await all.issue(JANE))]) {
    const { headers } = await all.run(request, { reply })
    t.equal(headers.get('cache-control'), 'public, max-age=60', 'a public response')
  }
  const forwarding = await open(t, [], { forwardAccount: true })
  const authenticated = await forwarding.run(bearer(await forwarding.issue(JANE)), { reply })
  t.equal(authenticated.headers.get('cache-control'), 'max-age=60, private')
  t.equal((await forwarding.run({}, { reply })).headers.get('vary'), 'authorization')
})

t.test('authorizes an account of another plugin regardless of other credentials', async (t) => {
  const { auth, issue } = await open(t, [MEMBERS])
  const other: Plugin = {
    name: 'other',
    onRequest(x) {
      x.session = { account: JANE, id: '', issuedMs: 0, endsMs: Number.POSITIVE_INFINITY }
    },
  }
  t.equal((await runPlugin([auth, other], bearer('a.b.c'))).status, 200)
  t.equal((await runPlugin([auth, other], {})).status, 200)
  t.equal((await runPlugin([auth], bearer(await issue(JANE)))).status, 200)
})

t.test('requires no token for a preflight handled by the cors plugin', async (t) => {
  const { auth } = await open(t, [MEMBERS])
  const origin = 'https://app.example.com'
  const chain = [buildPlugin(cors, { origins: [origin] }), auth]
  const headers = { origin, 'access-control-request-method': 'POST' }
  t.equal((await runPlugin(chain, { method: 'OPTIONS', headers })).status, 204)
  const { status, headers: fields } = await runPlugin(chain, { headers: { origin } })
  t.equal(status, 401)
  t.equal(fields.get('access-control-allow-origin'), origin, 'the page may read the denial')
  t.equal(
    (await runPlugin(auth, { method: 'OPTIONS', headers })).status,
    401,
    'without the plugin cors a preflight requires a token',
  )
})

t.test(
  'authorizes an open stream again for the target of its request, even if its path is no longer available',
  async (t) => {
    const rule = createRule({ id: 'own', scope: '*', resource: 'service:app:/app/*' })
    // The authorizer does not keep the process alive.
    keepAlive(t)
    const { auth, authorizer, source, issue } = await open(t, [rule])
    const createPool = () => {
      throw new Error('not called')
    }
    const first: Plugin = {
      name: 'routed',
      onRoute(x) {
        x.upstream = new Upstream('app', { createPool })
      },
    }
    const rewrite: Plugin = { name: 'rewrite', onRoute: (x) => x.rewrite('/elsewhere') }
    const { body, aborted } = await runPlugin(
      [first, auth, rewrite],
      { path: '/app/a', ...bearer(await issue(JANE)) },
      {
        route: toRoute('app', ''),
        async handle(x) {
          x.start(200, new HeaderList(), -1)
          const changed = new Promise<void>((resolve) => void authorizer.onChange(resolve))
          source.setRules('mx', rule, LOGIN)
          await changed
          await new Promise((resolve) => setImmediate(resolve))
          x.write(Buffer.from('all of it'))
          x.end()
        },
      },
    )
    t.equal(body, 'all of it')
    t.notOk(aborted)
  },
)

/** Waits until the condition is true, at most for the second that a change may take. */
async function poll(condition: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + 1000
  while (!(await condition())) {
    if (Date.now() > endMs) throw new Error('the condition was not met within a second')
    await new Promise((resolve) => setImmediate(resolve))
  }
}
