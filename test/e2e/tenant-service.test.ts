// A service of another namespace on a complete server: its identity, its registration and its callers.
import t, { type Test } from 'tap'
import type { Credentials } from '../../sdk/auth/credentials.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import type { ServiceOptions } from '../../sdk/service/service.ts'
import { waitUntil } from '../contracts/registry.ts'
import { type AuthServer, openAuthServer } from '../fixtures/auth-endpoints.ts'
import { startConsul } from '../fixtures/consul.ts'
import { createService, openClient } from '../fixtures/sdk-services.ts'

t.setTimeout(120_000)

const ACME = { options: { namespace: 'acme' } }
const AUTH: Credentials = { id: 'shop@latest', secret: 'a secret', namespace: 'acme' }

/** A server with a namespace, a service account and a user account in that namespace. */
async function open(t: Test, args: readonly string[] = []): Promise<AuthServer> {
  const server = await openAuthServer(t, ['--register_allow=loopback', ...args])
  const { sendRequest } = server
  const { id, secret } = AUTH
  await sendRequest('Auth.Generate', {
    id,
    secret,
    type: 'service',
    scopes: ['service'],
    ...ACME,
  })
  await sendRequest('Auth.Generate', { id: 'joe', secret, ...ACME })
  return server
}

/** Returns its caller, and the namespace of its own calls. */
async function startShop(t: Test, options: Partial<ServiceOptions>): Promise<string> {
  const shop = createService(t, { name: 'shop', ...options })
  shop.handle('Shop', {
    call: endpoint({ handle: (_, ctx) => ({ account: ctx.account?.id ?? '' }) }),
    ask: endpoint({
      handle: async () => ({ is: await shop.client.call('helloworld', 'Helloworld.Call') }),
    }),
  })
  return shop.start()
}

for (const variant of ['proxy', 'registry'] as const)
  t.test(
    `a service registered by ${variant} is found in its namespace and belongs to it`,
    async (t) => {
      const { transports, proxy, logIn } = await open(t)
      await startShop(t, { [variant]: `mx://${proxy}`, auth: AUTH })
      const joe = await logIn('joe', 'a secret', 'acme')
      const call = (endpoint: string, namespace?: string) =>
        transports.gateway('shop', endpoint, {}, joe, namespace)
      t.match(await call('Shop.Call'), { code: 404 }, 'not registered in mx')
      t.match(await call('Shop.Call', 'acme'), { code: 200, body: { account: 'joe' } })
      const expected = { account: 'shop@latest', namespace: 'acme' }
      t.match(await call('Shop.Ask', 'acme'), { code: 200, body: { is: expected } })
    },
  )

t.test('a service registered in Consul is found in its namespace', async (t) => {
  const consul = await startConsul(t)
  if (consul === undefined) return
  const registry = `consul://127.0.0.1:${consul.port}`
  const { transports, logIn } = await open(t, [`--registry=${registry}`])
  const joe = await logIn('joe', 'a secret', 'acme')
  await startShop(t, { registry, auth: AUTH })
  const call = (endpoint: string, namespace?: string) =>
    transports.gateway('shop', endpoint, {}, joe, namespace)
  await waitUntil(async () => (await call('Shop.Call', 'acme')).code === 200)
  t.match(await call('Shop.Call'), { code: 404 }, 'not registered in mx')
  // Without its own account, `helloworld` relies on proxies for authentication.
  t.match(await call('Shop.Ask', 'acme'), { code: 200, body: { is: { namespace: 'acme' } } })
})

t.test('the port of the service authorizes calls by the rules of its namespace', async (t) => {
  const { proxy, logIn, admin, sendRequest } = await open(t)
  const address = await startShop(t, { proxy, auth: AUTH })
  const joe = await logIn('joe', 'a secret', 'acme')
  const call = async (token: string, namespace = ''): Promise<unknown> => {
    const client = openClient(t, { address, retries: 0, token, namespace })
    const done = client.call<{ account: string }>('shop', 'Shop.Call')
    const result = await done.catch(({ code }) => code)
    client.close()
    return result.account ?? result
  }
  t.equal(await call(joe), 'joe', 'the default namespace of a call is the namespace of the service')
  t.equal(await call(joe, 'acme'), 'joe')
  t.equal(await call(joe, 'mx'), 404)
  t.equal(await call(joe, 'other'), 404)
  t.equal(await call(admin), 'admin', 'an operator, in every namespace')
  await sendRequest('Auth.Generate', { id: 'op', secret: 'a secret', scopes: ['admin'] })
  const operator = await logIn('op', 'a secret')
  t.equal(await call(operator), 'op')
  await sendRequest('Auth.Revoke', { id: 'op' })
  await waitUntil(async () => (await call(operator)) === 401)
})

t.test('the environment of a service contains its namespace', async (t) => {
  const { proxy, transports, logIn } = await open(t)
  const { id, secret, namespace = '' } = AUTH
  const variables = { MX_AUTH_ID: id, MX_AUTH_SECRET: secret, MX_NAMESPACE: namespace }
  Object.assign(process.env, variables)
  t.teardown(() => {
    for (const name of Object.keys(variables)) delete process.env[name]
  })
  await startShop(t, { proxy })
  const joe = await logIn('joe', 'a secret', 'acme')
  t.match(await transports.gateway('shop', 'Shop.Call', {}, joe, 'acme'), { code: 200 })
})
