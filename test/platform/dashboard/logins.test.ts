import t, { type Test } from 'tap'
import { forwardCall } from '../../../core/rpc/proxied-call.ts'
import { createLogins, toView } from '../../../platform/dashboard/logins.ts'
import { createFixed } from '../../../sdk/client-targets.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'

const ADDRESS = '127.0.0.1'
const CREDENTIALS = { ...ADMIN, namespace: '' }
const MINUTE_MS = 60_000

const { proxy, post } = await openServer(t)

/** Makes an account. */
async function addAccount(id: string) {
  const account = { id, secret: `the secret of ${id}` }
  t.equal((await post('/auth/generate', account)).status, 200, id)
  return { ...account, namespace: '' }
}

/** Denies everybody an endpoint of `auth` while the test runs. */
async function deny(t: Test, endpoint: string): Promise<void> {
  const resource = { type: 'service', name: 'auth', endpoint }
  const rule = { id: endpoint, scope: '', access: 'DENIED', priority: 10, resource }
  t.equal((await post('/auth/rules/create', { rule, force: true })).status, 200)
  t.teardown(() => post('/auth/rules/delete', { id: endpoint, force: true }))
}

/** Logins with a clock of their own. */
function open(t: Test) {
  const upstream = createFixed(proxy)
  t.teardown(() => upstream.close())
  let asked: string[] = []
  let aheadMs = 0
  const logins = createLogins(
    (call) => {
      asked.push(call.endpoint)
      forwardCall(call, () => upstream)
    },
    () => Date.now() + aheadMs,
  )
  const taken = (): string[] => {
    const all = asked
    asked = []
    return all
  }
  return {
    logins,
    taken,
    wait: (minutes: number) => {
      aheadMs += minutes * MINUTE_MS
    },
  }
}

t.test('a token is exchanged once half of its life is over, by however many ask', async (t) => {
  const { logins, taken, wait } = open(t)
  const login = await logins.begin(CREDENTIALS, ADDRESS)
  const first = login.token
  await logins.renew(login, ADDRESS)
  t.equal(login.token, first, 'it is good for long')
  t.strictSame(taken(), ['Auth.Token'])

  wait(8)
  // Tokens count in seconds, and are told apart by their ids.
  await Promise.all([logins.renew(login, ADDRESS), logins.renew(login, ADDRESS)])
  t.not(login.token, first)
  t.strictSame(taken(), ['Auth.Token'], 'one for both')
  t.equal(await logins.find(first, ADDRESS), login, 'a tab with the old cookie has the same login')
  t.equal(await logins.find(login.token, ADDRESS), login)
})

t.test('a login that has ended is not renewed', async (t) => {
  const { logins, wait } = open(t)
  const login = await logins.begin(await addAccount('jane'), ADDRESS)
  t.equal((await post('/auth/revoke', { id: 'jane' })).status, 200)
  wait(8)
  await t.rejects(logins.renew(login, ADDRESS), {
    code: 401,
    message: 'the login has ended: log in again',
  })
})

t.test('one of another process is taken as long as its token is, and not renewed', async (t) => {
  const { logins, taken, wait } = open(t)
  const { body } = await post('/auth/token', ADMIN)
  const login = await logins.find(body.token.access_token, ADDRESS)
  t.match(toView(login), { account: { id: 'admin' }, namespace: 'mx' })
  wait(8)
  taken()
  await logins.renew(login, ADDRESS)
  t.strictSame(taken(), [])
  t.equal(login.token, body.token.access_token)
  await logins.end(login, ADDRESS)
  await t.rejects(logins.find(login.token, ADDRESS), { code: 401 })
})

t.test('ending one ends its refresh token, too', async (t) => {
  const { logins, wait } = open(t)
  const login = await logins.begin(CREDENTIALS, ADDRESS)
  await logins.end(login, ADDRESS)
  await t.rejects(logins.find(login.token, ADDRESS), { code: 401 })
  wait(8)
  await logins.renew(login, ADDRESS)
  await t.rejects(logins.find(login.token, ADDRESS), { code: 401 })
  t.equal((await post('/auth/token', ADMIN)).status, 200)
})

t.test('rules that deny asking who one is log nobody out', async (t) => {
  const { logins } = open(t)
  const login = await logins.begin(CREDENTIALS, ADDRESS)
  await deny(t, 'Auth.Inspect')
  t.equal((await logins.find(login.token, ADDRESS)).token, login.token)
  await t.rejects(logins.find('a.b.c', ADDRESS), { code: 401 })
})

t.test('rules that let nobody log in are told, not mistaken for a wrong secret', async (t) => {
  const { logins } = open(t)
  const jane = await addAccount('denied')
  await deny(t, 'Auth.Token')
  await t.rejects(logins.begin(jane, ADDRESS), {
    code: 401,
    message: 'Unauthorized call made to auth:Auth.Token',
  })
  t.ok(await logins.begin(CREDENTIALS, ADDRESS), 'operators log in all the same')
})
