// A login reaches `auth` regardless of the rules; if the rules deny it, only operators may log in.
import t from 'tap'
import { openAuthServer } from '../../../fixtures/auth-endpoints.ts'
import { eventually } from '../../../fixtures/eventually.ts'

t.setTimeout(60_000)

const BAN = {
  ...{ id: 'ban', scope: '', access: 'DENIED', priority: 1_000_000_000 },
  resource: { type: '*', name: '*', endpoint: '*' },
}
const DENIED = {
  code: 401,
  body: { Id: 'auth', Detail: 'Unauthorized call made to auth:Auth.Token' },
}
const SECRET = 'a long secret'

t.test('lets only operators log in when a rule denies all calls', async (t) => {
  const { sendRequest, transports, admin } = await openAuthServer(t)
  await sendRequest('Auth.Generate', { id: 'jane', secret: SECRET, scopes: ['staff'] })
  const options = { namespace: 'acme' }
  await sendRequest('Auth.Generate', { id: 'joe', secret: SECRET, scopes: ['admin'], options })
  const call = (endpoint: string, request: object, token?: string, namespace?: string) =>
    transports.gateway('auth', endpoint, request, token, namespace)
  const logIn = (request: object, namespace?: string) =>
    call('Auth.Token', request, undefined, namespace)
  const jane = (await logIn({ id: 'jane', secret: SECRET })).body.token
  const joe = (await logIn({ id: 'joe', secret: SECRET }, 'acme')).body.token
  const operator = (await logIn({ id: 'admin', secret: 'mx' })).body.token

  await sendRequest('Rules.Create', { rule: BAN, force: true })
  await eventually(async () => (await call('Auth.Keys', {})).code === 401)

  for (const [name, transport] of Object.entries(transports)) {
    const denied = async (request: object, namespace?: string) =>
      t.match(await transport('auth', 'Auth.Token', request, undefined, namespace), DENIED, name)
    await denied({ id: 'jane', secret: SECRET })
    await denied({ id: 'joe', secret: SECRET }, 'acme')
    await denied({})
    await denied({ refresh_token: 'wrong' })
    t.match(
      await transport('auth', 'Auth.Token', { id: 'admin', secret: 'mx' }),
      { code: 200 },
      name,
    )
    t.match(await transport('auth', 'Rules.List', {}, admin), { code: 200 }, name)
    t.match(await transport('auth', 'Accounts.List', {}, admin), { code: 200 }, name)
    t.match(await transport('auth', 'Auth.Keys', {}, admin), { code: 401 }, name)
    t.match(await transport('auth', 'Rules.List', {}, jane.access_token), { code: 401 }, name)
    t.match(
      await transport('auth', 'Rules.List', {}, joe.access_token, 'acme'),
      { code: 401 },
      name,
    )
  }

  for (const id of ['jane', 'unknown', 'admin'])
    t.match(await logIn({ id, secret: 'wrong' }), DENIED, `${id}, with a wrong secret`)
  const repeated = await logIn({ refresh_token: operator.refresh_token })
  t.match(repeated, { code: 200, body: { token: { access_token: String } } })
  t.match(await logIn({ refresh_token: jane.refresh_token }), DENIED)
  t.match(
    await call('Rules.Delete', { id: 'ban' }, admin, 'acme'),
    { code: 400 },
    'the login reaches auth',
  )
  t.match(await call('Rules.Delete', { id: 'ban' }, admin), { code: 200 })
  await eventually(async () => (await call('Auth.Keys', {})).code === 200)
  t.match(
    await logIn({ refresh_token: jane.refresh_token }),
    { code: 200 },
    'the refresh token is still valid',
  )
})

t.test('limits guesses, including guesses of a correct secret', async (t) => {
  const { sendRequest, transports } = await openAuthServer(t)
  await sendRequest('Auth.Generate', { id: 'jane', secret: SECRET })
  await sendRequest('Rules.Create', { rule: BAN, force: true })
  await eventually(async () => (await transports.gateway('auth', 'Auth.Keys', {})).code === 401)
  const guess = async (secret: string) =>
    (await transports.gateway('auth', 'Auth.Token', { id: 'jane', secret })).code
  const codes: number[] = []
  for (const secret of ['a', SECRET, 'b', SECRET, 'c', SECRET, 'd']) codes.push(await guess(secret))
  t.same(codes, [401, 401, 401, 401, 401, 429, 429])
})
