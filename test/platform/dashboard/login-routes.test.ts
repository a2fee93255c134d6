import t from 'tap'
import { DashboardClient } from '../../fixtures/dashboard-client.ts'
import { type OpenServer, openServer } from '../../fixtures/server.ts'

function visit({ server }: OpenServer): DashboardClient {
  return new DashboardClient(`http://127.0.0.1:${server.webAddress.port}`)
}

const open = await openServer(t)
const { post } = open
const servers = { uws: open, node: await openServer(t, ['--listener=node']) }

for (const listener of ['uws', 'node'] as const) {
  t.test(`${listener}: a login sets a cookie that scripts cannot read`, async (t) => {
    const client = visit(servers[listener])
    const reply = await client.logIn()
    t.equal(reply.status, 200)
    t.match(reply.body, {
      account: { id: 'admin', type: 'user', issuer: 'mx', scopes: ['admin'] },
      namespace: 'mx',
    })
    const remainingMs = reply.body.expires - Date.now()
    t.ok(remainingMs > 880_000 && remainingMs <= 900_000, `${remainingMs} ms`)
    t.match(client.cookie, /^mx-dashboard=[\w-]{43}$/, '256 random bits, no token')
    t.strictSame(
      client.attributes,
      ['path=/', 'max-age=43200', 'httponly', 'samesite=strict'],
      'no Secure over plain HTTP',
    )
    t.notMatch(JSON.stringify(reply.body), client.cookie.slice(13), 'the id is only in the cookie')
    t.notMatch(JSON.stringify(reply.body), /eyJ/, 'no token')

    const session = await client.sendRequest('GET', '/session')
    t.strictSame([session.status, session.body], [200, reply.body])
    t.equal((await client.sendRequest('GET', '/session', undefined, { origin: '' })).status, 200)
    const renewed = await client.sendRequest('POST', '/session')
    t.strictSame([renewed.status, renewed.headers.getSetCookie()], [200, []])
  })

  t.test(
    `${listener}: a login creates a new session id and ends the previous session`,
    async (t) => {
      const client = visit(servers[listener])
      client.cookie = `mx-dashboard=${'a'.repeat(43)}`
      await client.logIn()
      const first = client.cookie
      t.not(first, `mx-dashboard=${'a'.repeat(43)}`, 'an id that the browser chose is not accepted')
      await client.logIn()
      const second = client.cookie
      t.not(second, first)
      client.cookie = first
      t.equal((await client.sendRequest('GET', '/session')).status, 401)
      client.cookie = second
      t.equal((await client.sendRequest('GET', '/session')).status, 200)
    },
  )

  t.test(`${listener}: a logout ends the session on the server`, async (t) => {
    const client = visit(servers[listener])
    await client.logIn()
    const { cookie } = client
    t.equal((await client.sendRequest('POST', '/logout')).status, 204)
    t.equal(client.cookie, '')
    t.ok(client.attributes.includes('max-age=0'))
    client.cookie = cookie
    const session = await client.sendRequest('GET', '/session')
    t.equal(session.status, 401)
    t.match(session.body, { Id: 'dashboard', Detail: 'not logged in' })
    t.equal((await client.sendRequest('POST', '/session')).status, 401)
    t.equal((await client.sendRequest('POST', '/logout')).status, 204, 'a repeated logout succeeds')
  })
}

t.test('returns 401 without a session', async (t) => {
  const client = visit(open)
  const reply = await client.sendRequest('GET', '/session')
  t.equal(reply.status, 401)
  t.match(reply.body, { Id: 'dashboard', Code: 401, Detail: 'not logged in' })
  t.equal((await client.sendRequest('POST', '/logout')).status, 204)
  client.cookie = `mx-dashboard=${'a'.repeat(43)}`
  t.equal((await client.sendRequest('GET', '/session')).status, 401, 'an unknown session id')
  client.cookie = `mx-token=${open.token}; mx-dashboard=${open.token}`
  t.equal((await client.sendRequest('GET', '/session')).status, 401, 'an access token')
})

t.test('rejects several sessions, which a page of the host may have added', async (t) => {
  const [client, attacker] = [visit(open), visit(open)]
  await client.logIn()
  await attacker.logIn()
  const { cookie } = client
  client.cookie = `mx-dashboard=junk; ${cookie}; mx-dashboard=`
  t.equal(
    (await client.sendRequest('GET', '/session')).status,
    200,
    'unknown session ids are ignored',
  )
  client.cookie = `${attacker.cookie}; ${cookie}`
  const reply = await client.sendRequest('GET', '/session')
  t.match(reply, { status: 401, body: { Detail: /several sessions; log in again/ } })
  await client.logIn()
  t.not(client.cookie, '')
  client.cookie = `${attacker.cookie}; ${client.cookie}`
  t.equal(
    (await client.sendRequest('GET', '/session')).status,
    200,
    'a login ends all of these sessions',
  )
})

t.test('returns 401 for an invalid id or password, and 429 after too many attempts', async (t) => {
  const client = visit(open)
  await post('/auth/generate', { id: 'joan', secret: 'a secret of hers' })
  for (const credentials of [
    { id: 'joan', secret: 'wrong' },
    { id: 'unknown', secret: 'mx' },
  ]) {
    const reply = await client.logIn(credentials)
    t.equal(reply.status, 401)
    t.match(reply.body, { Id: 'dashboard', Detail: 'invalid id or password' })
    t.equal(client.cookie, '')
  }
  for (let i = 0; i < 4; i++) await client.logIn({ id: 'joan', secret: `wrong ${i}` })
  const rejected = await client.logIn({ id: 'joan', secret: 'wrong' })
  t.equal(rejected.status, 429)
  t.ok(Number(rejected.headers.get('retry-after')) > 0)
})

t.test('logs in to another namespace', async (t) => {
  const client = visit(open)
  const jane = { id: 'jane', secret: 'a secret of hers', options: { namespace: 'staging' } }
  t.equal((await post('/auth/generate', jane)).status, 200)
  const { id, secret } = jane
  t.equal((await client.logIn({ id, secret })).status, 401)
  const reply = await client.logIn({ id, secret, namespace: 'staging' })
  t.match(reply.body, { account: { id: 'jane', issuer: 'staging' }, namespace: 'staging' })
  t.equal((await client.sendRequest('GET', '/session')).status, 200)
})

t.test('rejects an invalid login body', async (t) => {
  const client = visit(open)
  const login = (body: unknown, headers = {}) => client.sendRequest('POST', '/login', body, headers)
  t.match(await login('{'), { status: 400, body: { Detail: /^request body must be JSON/ } })
  t.match(await login([]), {
    status: 400,
    body: { Detail: 'request body must be a JSON object with id and secret' },
  })
  for (const body of [{ id: 'admin' }, { id: 'admin', secret: '' }, { id: 'admin', secret: 7 }])
    t.match(await login(body), {
      status: 400,
      body: { Detail: 'secret must be a non-empty string' },
    })
  t.equal((await login({ id: 'a', secret: 'x'.repeat(17_000) })).status, 413)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  t.match(await login('id=admin&secret=mx', form), {
    status: 415,
    body: { Detail: /must be application\/json, got application\/x-www-form-urlencoded$/ },
  })
})

t.test('rejects requests that a page of the dashboard did not send', async (t) => {
  const client = visit(await openServer(t, ['--web_origins=any', '--hosts=any']))
  await client.logIn()
  const { cookie, url } = client
  for (const headers of [
    { origin: '' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:1' },
    { origin: url, 'sec-fetch-site': 'same-site' },
    { origin: url, 'sec-fetch-site': 'cross-site' },
    { origin: '', 'sec-fetch-site': 'none' },
  ] as Record<string, string>[])
    for (const path of ['/login', '/logout', '/session']) {
      const reply = await client.sendRequest('POST', path, { id: 'admin', secret: 'mx' }, headers)
      t.equal(reply.status, 403, `${path} ${JSON.stringify(headers)}`)
      t.match(reply.body.Detail, /^only allowed for pages of the dashboard/)
    }
  t.equal(client.cookie, cookie)
  t.equal((await client.sendRequest('GET', '/session')).status, 200, 'still logged in')
  const sameOrigin = { origin: 'http://elsewhere.test', 'sec-fetch-site': 'same-origin' }
  t.equal(
    (await client.sendRequest('POST', '/session', undefined, sameOrigin)).status,
    200,
    'a proxy may change Host',
  )
})

t.test('sets a secure cookie for a page over TLS, even behind a TLS proxy', async (t) => {
  const client = visit(open)
  const headers = { origin: client.url.replace('http:', 'https:') }
  const reply = await client.sendRequest('POST', '/login', { id: 'admin', secret: 'mx' }, headers)
  t.equal(reply.status, 200)
  t.match(client.cookie, /^__Host-mx-dashboard=/)
  t.strictSame(client.attributes, [
    ...['path=/', 'max-age=43200', 'httponly', 'samesite=strict', 'secure'],
  ])
  const { cookie } = client
  t.equal((await client.sendRequest('POST', '/session', undefined, headers)).status, 200)
  t.equal((await client.sendRequest('GET', '/session', undefined, { origin: '' })).status, 200)
  client.cookie = cookie.replace('__Host-', '')
  t.equal(
    (await client.sendRequest('POST', '/session', undefined, headers)).status,
    401,
    'a cookie without the __Host- prefix, which pages without TLS can set',
  )
  client.cookie = cookie
  t.equal((await client.sendRequest('POST', '/logout', undefined, headers)).status, 204)
  t.ok(client.attributes.includes('secure'), 'required for the browser to remove it')
})

t.test('logs out deleted accounts and accounts with revoked logins', async (t) => {
  const client = visit(open)
  const jane = { id: 'jane', secret: 'a secret of hers' }
  await post('/auth/generate', jane)
  await client.logIn(jane)
  t.equal((await client.sendRequest('GET', '/session')).status, 200)
  await post('/auth/accounts/delete', { id: 'jane' })
  t.equal((await client.sendRequest('GET', '/session')).status, 401)
  t.equal((await client.sendRequest('POST', '/session')).status, 401)
})

t.test('behind a trusted proxy, failed logins of one client do not block others', async (t) => {
  for (const listener of ['uws', 'node']) {
    const args = [
      '--trusted_proxies=loopback',
      '--trusted_proxies_optional',
      `--listener=${listener}`,
    ]
    const client = visit(await openServer(t, args))
    const logInFrom = async (address: string, secret: string): Promise<number> => {
      const headers = address === '' ? {} : { 'x-forwarded-for': address }
      const reply = await client.sendRequest('POST', '/login', { id: 'admin', secret }, headers)
      return reply.status
    }
    for (let i = 0; i < 5; i++) t.equal(await logInFrom('192.0.2.1', 'guess'), 401)
    t.equal(await logInFrom('192.0.2.1', 'mx'), 429)
    t.equal(await logInFrom('192.0.2.9', 'mx'), 200)
    t.equal(await logInFrom('', 'mx'), 200, 'a visit without the proxy')
  }
})
