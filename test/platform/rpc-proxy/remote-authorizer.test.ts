import t, { type Test } from 'tap'
import { configurationFrom } from '../../../platform/config/load.ts'
import { startGatewayServer } from '../../../platform/gateway/gateway-server.ts'
import type { GatewayServer } from '../../../platform/gateway/types.ts'
import { createLog } from '../../../platform/process/log.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { listenHttp } from '../../fixtures/listen.ts'
import { openServer } from '../../fixtures/server.ts'

const LOG = createLog('silent')
/** Maximum delay of a rule change. */
const CHANGE_MS = 1000

async function startGateway(t: Test, args: readonly string[], env = {}): Promise<GatewayServer> {
  const flags = readFlags(['--address=127.0.0.1:0', '--access_log=off', ...args])
  const api = await startGatewayServer({
    configuration: await configurationFrom(flags, env)(),
    log: LOG,
  })
  t.teardown(api.close)
  return api
}

async function openApi(t: Test, args: readonly string[], env = {}): Promise<string> {
  return `http://127.0.0.1:${(await startGateway(t, args, env)).port}`
}

async function openBackend(t: Test): Promise<string> {
  return `app=127.0.0.1:${await listenHttp(t, (req, res) => res.end(req.headers['authorization'] ?? 'nothing'))}`
}

t.test('attributes logins through a trusted gateway to its clients', async (t) => {
  const logIn = async (args: readonly string[]) => {
    const { proxy } = await openServer(t, args)
    const url = await openApi(t, [
      `--registry=mx://${proxy}`,
      `--auth=mx://${proxy}`,
      ...['--namespace= ', '--auth_id=admin', '--auth_secret=mx', '--trusted_proxies=loopback'],
    ])
    return async (address: string): Promise<number> => {
      const { status } = await fetch(`${url}/auth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
        body: JSON.stringify({ id: 'admin', secret: 'guess' }),
      })
      return status
    }
  }
  // The fixture logs in from this address, without a proxy.
  const trusted = await logIn(['--trusted_proxies=loopback', '--trusted_proxies_optional'])
  for (let i = 0; i < 5; i++) t.equal(await trusted('198.51.100.7'), 400)
  t.equal(await trusted('198.51.100.7'), 429)
  t.equal(await trusted('198.51.100.8'), 400)
  const other = await logIn([])
  for (let i = 0; i < 5; i++) t.equal(await other('198.51.100.7'), 400)
  t.equal(await other('198.51.100.8'), 429, 'other gateways are counted by their own address')
})

t.test('a standalone gateway enforces the rules of its server', async (t) => {
  const { server, proxy, post } = await openServer(t)
  const { body } = await post('/auth/token', { id: 'admin', secret: 'mx' })
  const headers = { authorization: `Bearer ${body.token.access_token}` }
  const args = [`--auth=mx://${proxy}`, '--auth_id=admin', `--backend=${await openBackend(t)}`]
  const url = await openApi(t, ['--handler=proxy', ...args], { MX_AUTH_SECRET: 'mx' })
  const sendRequest = async (init?: RequestInit): Promise<number> =>
    (await fetch(`${url}/app`, init)).status
  t.equal(await sendRequest(), 200, 'the default rule')
  const rule = (id: string, scope: string, resource: string) => {
    const [type, name, endpoint] = resource.split(':')
    return post(
      '/auth/rules/create',
      { rule: { id, scope, access: 'GRANTED', resource: { type, name, endpoint }, priority: 0 } },
      headers,
    )
  }
  t.equal((await rule('login', '', 'service:auth:*')).status, 200)
  t.equal((await rule('members', '*', '*:*:*')).status, 200)
  t.equal((await post('/auth/rules/delete', { id: 'default' }, headers)).status, 200)
  const startMs = performance.now()
  while ((await sendRequest()) !== 401) t.ok(performance.now() - startMs < CHANGE_MS)
  const authorized = await fetch(`${url}/app`, { headers })
  t.equal(authorized.status, 200)
  t.equal(await authorized.text(), 'nothing', 'the token is not sent to backends')
  t.equal(await sendRequest({ headers: { authorization: 'Bearer a.b.c' } }), 401)
  await server.close()
  t.equal(await sendRequest(), 401, 'the last rules remain in force')
  t.equal(await sendRequest({ headers }), 200, 'the last keys remain in force')
})

t.test('denies all calls until the server has been reached', async (t) => {
  const url = await openApi(t, [
    '--handler=proxy',
    '--auth=mx://127.0.0.1:1',
    `--backend=${await openBackend(t)}`,
  ])
  const reply = await fetch(`${url}/app`)
  t.equal(reply.status, 503)
  t.ok(Number(reply.headers.get('retry-after')) > 0)
  t.equal((await fetch(url)).status, 200, 'GET / is open')
})

t.test('/readyz reports missing rules and keys, and denied access', async (t) => {
  const { server, proxy } = await openServer(t)
  const open = (secret: string, auth = `mx://${proxy}`): Promise<GatewayServer> =>
    startGateway(t, [`--auth=${auth}`, '--auth_id=admin', `--auth_secret=${secret}`])
  const waitForProblem = (api: GatewayServer, problem: string | undefined): Promise<void> =>
    eventually(async () => (await api.problems())[0] === problem)
  t.same(await (await open('mx', 'mx://127.0.0.1:1')).problems(), [
    'the auth service has not responded yet',
  ])
  await waitForProblem(await open('wrong'), 'the auth service denies access; see the log')
  const authorized = await open('mx')
  await waitForProblem(authorized, undefined)
  await server.close()
  t.same(await authorized.problems(), [], 'the last rules remain in force')
})

t.test('rejects incomplete credentials at startup', async (t) => {
  for (const flag of ['--auth_id=admin', '--auth_secret=mx'])
    await t.rejects(openApi(t, ['--auth=mx://127.0.0.1:1', flag]), {
      message: /must both be set/,
    })
})
