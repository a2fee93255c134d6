import t from 'tap'
import { DashboardClient } from '../../fixtures/dashboard-client.ts'
import { type OpenServer, openServer } from '../../fixtures/server.ts'

/** A browser logged in as `admin`. */
async function visit({ server }: OpenServer): Promise<DashboardClient> {
  const client = new DashboardClient(`http://127.0.0.1:${server.webAddress.port}`)
  await client.logIn()
  return client
}

const servers = { uws: await openServer(t), node: await openServer(t, ['--listener=node']) }
/** Creates an account without administrator rights. */
async function addAccount({ post }: OpenServer, id: string) {
  const account = { id, secret: `the secret of ${id}` }
  t.equal((await post('/auth/generate', account)).status, 200, id)
  return account
}

/** A rule of the platform with a higher priority. */
function toRule(id: string, access: string, name: string, endpoint = '*') {
  const resource = { type: 'service', name, endpoint }
  return { rule: { id, scope: '', access, resource, priority: 10 } }
}

for (const listener of ['uws', 'node'] as const) {
  t.test(`${listener}: authenticates calls of a page by the session`, async (t) => {
    const server = servers[listener]
    const client = await visit(server)
    const admin = await client.connect(t)
    const { accounts } = await admin.call('auth', 'Accounts.List')
    t.match(accounts, [{ id: 'admin' }])
    const { services } = await admin.call('registry', 'Registry.ListServices')
    t.ok(services.length > 5)

    const jane = new DashboardClient(client.url)
    await jane.logIn(await addAccount(server, 'jane'))
    const janeConnection = await jane.connect(t)
    await t.rejects(janeConnection.call('auth', 'Accounts.List'), {
      code: 401,
      message: /^Permission denied: /,
    })
    t.match(
      await admin.call('auth', 'Accounts.List'),
      { accounts: [{}, {}] },
      'the other session stays open',
    )

    await client.logIn()
    t.equal(await admin.closed, 1001, 'another login of the same browser ends its session')
  })

  t.test(`${listener}: ignores credentials in the metadata of a page`, async (t) => {
    const server = servers[listener]
    const { token } = server
    const client = await visit(server)
    await client.logIn(await addAccount(server, 'joan'))
    const janeConnection = await client.connect(t)
    const admin = JSON.stringify({ id: 'admin', type: 'user', issuer: 'mx', scopes: ['admin'] })
    for (const fields of [
      ['authorization', `Bearer ${token}`],
      ['mx-account', admin],
      ['cookie', (await visit(server)).cookie],
    ])
      await t.rejects(
        janeConnection.call('auth', 'Accounts.List', {}, { fields }),
        { code: 401 },
        fields.join(),
      )
    await t.rejects(janeConnection.call('auth', 'Auth.Token', {}, { fields: ['mx-hops', 'x'] }), {
      code: 400,
    })
  })
}

t.test('accepts only pages of the dashboard with a session', async (t) => {
  const server = await openServer(t, ['--web_origins=any', '--hosts=any'])
  const { token } = server
  const client = await visit(server)
  const expectStatus = (status: number, headers: Record<string, string>, protocols?: string[]) =>
    t.rejects(client.connect(t, headers, protocols), {
      message: `Unexpected server response: ${status}`,
    })
  await expectStatus(401, { cookie: '' })
  await expectStatus(401, { cookie: 'mx-dashboard=abc' })
  await expectStatus(401, { cookie: `mx-token=${token}` })
  const other = new DashboardClient(client.url)
  await other.logIn()
  await expectStatus(401, { cookie: `${client.cookie}; ${other.cookie}` })
  await expectStatus(403, { origin: '' })
  await expectStatus(403, { origin: 'null' })
  await expectStatus(403, { origin: 'http://127.0.0.1:1' })
  await expectStatus(403, { origin: client.url, 'sec-fetch-site': 'same-site' })
  await expectStatus(426, {}, ['other'])
  const { url } = client
  await t.rejects(new DashboardClient(`${url}/elsewhere`).connect(t), /response: 404/)
  t.ok(await client.connect(t))
})

t.test('ends a stream when the rules deny it and when the session ends', async (t) => {
  const server = await openServer(t)
  const { post } = server
  const client = await visit(server)
  const page = await client.connect(t)
  const stream = page.open('registry', 'Registry.Watch', {}, { streams: true })
  const events = page.open('auth', 'Rules.Watch', {}, { streams: true })
  t.ok(await events.next())
  await post('/auth/rules/create', toRule('deny', 'DENIED', 'registry', 'Registry.Watch'))
  await t.rejects(read(stream), { code: 401, message: /^Unauthorized call made to registry/ })
  await t.rejects(page.call('registry', 'Registry.Watch', {}, { streams: true }), { code: 401 })

  await post('/auth/revoke', { id: 'admin' })
  await t.rejects(read(events), {
    code: 401,
    isExpiry: true,
    fields: [['www-authenticate', 'Bearer error="invalid_token"']],
  })
  await t.rejects(page.call('auth', 'Accounts.List'), { code: 401 })
})

t.test('a logout closes the connections of its session only', async (t) => {
  const client = await visit(servers.uws)
  const page = await client.connect(t)
  const other = new DashboardClient(client.url)
  await other.logIn()
  const otherConnection = await other.connect(t)
  t.equal((await client.sendRequest('POST', '/logout')).status, 204)
  t.equal(await page.closed, 1001)
  t.ok(await otherConnection.call('auth', 'Accounts.List'))
})

t.test('returns an error for an unknown service', async (t) => {
  const client = await visit(servers.uws)
  const page = await client.connect(t)
  await t.rejects(page.call('greeter', 'Greeter.Hello'), {
    code: 404,
    message: 'service not found: greeter',
  })
  await t.rejects(page.call(' ', 'Greeter.Hello'), { code: 400 })
})

t.test('a stopping server sends GOAWAY to pages and finishes their calls', async (t) => {
  const open = await openServer(t)
  const { server } = open
  const client = await visit(open)
  const page = await client.connect(t)
  const stream = page.open('auth', 'Rules.Watch', {}, { streams: true })
  t.ok(await stream.next())
  await server.drain()
  await t.rejects(read(stream))
  t.ok([1000, 1001, 1005, 1006].includes(await page.closed))
})

async function read(stream: { readonly next: () => Promise<unknown> }): Promise<void> {
  while ((await stream.next()) !== undefined);
}
