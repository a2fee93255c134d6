// Token renewal of programs with a complete server.
import t from 'tap'
import { createTokenSource, type LoginReply } from '../../sdk/auth/token-source.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { ADMIN, openServer } from '../fixtures/server.ts'

t.setTimeout(60_000)

const AUTH = { id: 'orders', secret: 'a long secret' }

t.test('refreshes a token, and logs in again if the refresh is rejected', async (t) => {
  const { proxy } = await openServer(t)
  const admin = openClient(t, { proxy, auth: ADMIN })
  await admin.call('auth', 'Auth.Generate', { ...AUTH, type: 'service', scopes: ['service'] })
  const requests: string[] = []
  const withoutToken = openClient(t, { proxy, inProcess: false, token: 'none' })
  const sendRequest = (request: object) => {
    requests.push(...Object.keys(request))
    return withoutToken.call<LoginReply>('auth', 'Auth.Token', request)
  }
  const clock = { nowMs: 0 }
  const tokens = createTokenSource({
    logIn: () => sendRequest({ ...AUTH }),
    refresh: (refresh_token) => sendRequest({ refresh_token }),
    isImplicit: false,
    nowMs: () => clock.nowMs,
  })
  const renew = async () => {
    clock.nowMs += 900_000
    await tokens.ready()
    const token = tokens.current()!
    const { account } = await admin.call<{ account: { id: string } }>('auth', 'Auth.Inspect', {
      token,
    })
    t.equal(account.id, AUTH.id)
    return token
  }
  const renewed = new Set([await renew(), await renew(), await renew()])
  t.equal(renewed.size, 3)
  t.same(requests.splice(0), ['id', 'secret', 'refresh_token', 'refresh_token'])
  await admin.call('auth', 'Auth.Revoke', { id: AUTH.id })
  await renew()
  t.same(requests, ['refresh_token', 'id', 'secret'])
})

t.test('a client continues after its token became invalid', async (t) => {
  const { proxy } = await openServer(t)
  const admin = openClient(t, { proxy, auth: ADMIN })
  await admin.call('auth', 'Auth.Generate', { ...AUTH, type: 'service', scopes: ['service'] })
  const client = openClient(t, { proxy, auth: AUTH })
  const list = () => client.call('auth', 'Rules.List')
  await list()
  await admin.call('auth', 'Auth.RotateKey', { drop: true })
  t.match(await list(), { rules: [{ id: 'default' }] }, 'with its refresh token')
  await admin.call('auth', 'Auth.Revoke', { id: AUTH.id })
  t.match(await list(), { rules: [{ id: 'default' }] }, 'with its secret')
})
