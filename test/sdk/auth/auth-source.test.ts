import t, { type Test } from 'tap'
import { parseApiKey } from '../../../core/auth/token/api-key.ts'
import { createAuthSource } from '../../../sdk/auth/auth-source.ts'
import type { Client } from '../../../sdk/client/client.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { createService, openClient } from '../../fixtures/sdk-services.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'

t.setTimeout(60_000)

const ACCOUNT = { id: 'orders', type: 'service', scopes: ['service'], secret: 'a long secret' }
const AUTH = { id: ACCOUNT.id, secret: ACCOUNT.secret }
const DENY_ORDERS = {
  id: 'deny-orders',
  access: 'DENIED',
  priority: 1,
  resource: { type: 'service', name: 'orders', endpoint: 'Orders.*' },
}

/** Opens a server with the account of a service, and an administrator client. */
async function open(t: Test) {
  const server = await openServer(t, ['--register_allow=loopback'])
  const admin = openClient(t, { proxy: server.proxy, auth: ADMIN })
  await admin.call('auth', 'Auth.Generate', ACCOUNT)
  return { server, admin }
}

const deny = (admin: Client): Promise<unknown> =>
  admin.call('auth', 'Rules.Create', { rule: DENY_ORDERS })

t.test('watches send the rules and keys of a remote platform, then each change', async (t) => {
  const { server, admin } = await open(t)
  const source = createAuthSource(openClient(t, { proxy: server.proxy, auth: AUTH }))
  const ending = new AbortController()
  const rules = source.watchRules('mx', ending.signal)[Symbol.asyncIterator]()
  t.same(
    (await rules.next()).value.map(({ id }: { id: string }) => id),
    ['default'],
  )
  await deny(admin)
  t.match((await rules.next()).value, [{ id: 'default' }, DENY_ORDERS])
  const tokens = source.watchTokens(ending.signal)[Symbol.asyncIterator]()
  const first = (await tokens.next()).value
  t.equal(first.keys.size, 1)
  t.equal([...first.keys.values()][0].asymmetricKeyType, 'ed25519')
  ending.abort()
  await t.rejects(rules.next())
})

t.test(
  'a service of mx watches all namespaces with rules, other services only their own',
  async (t) => {
    const { server, admin } = await open(t)
    const client = openClient(t, { proxy: server.proxy, auth: AUTH })
    const ending = new AbortController()
    t.teardown(() => ending.abort())
    const watch = (namespace?: string) =>
      createAuthSource(client, namespace).watchNamespaces(ending.signal)[Symbol.asyncIterator]()
    const updates = watch()
    t.same(await updates.next(), { done: false, value: new Set() })
    await admin.call('auth', 'Rules.Create', {
      rule: DENY_ORDERS,
      options: { namespace: 'acme' },
    })
    t.same((await updates.next()).value, new Set(['acme']))
    const shopRules = watch('shop')
    t.same((await shopRules.next()).value, new Set(['shop']))
    const next = shopRules.next()
    ending.abort()
    t.same(await next, { done: true, value: undefined })
  },
)

t.test('a watch whose token expires restarts', async (t) => {
  const { server, admin } = await open(t)
  const source = createAuthSource(openClient(t, { proxy: server.proxy, auth: AUTH }))
  const { signal } = new AbortController()
  const rules = source.watchRules('mx', signal)[Symbol.asyncIterator]()
  const tokens = source.watchTokens(signal)[Symbol.asyncIterator]()
  await Promise.all([rules.next(), tokens.next()])
  await admin.call('auth', 'Auth.RotateKey', { drop: true })
  t.match((await rules.next()).value, [{ id: 'default' }])
  await admin.call('auth', 'Auth.Revoke', { id: AUTH.id })
  const { id: account } = ACCOUNT
  const old = { id: 'x', issuedMs: 0, endsMs: 0, account: { id: account, issuer: 'mx' } }
  for (;;) if ((await tokens.next()).value.isRevoked(old)) break
  await deny(admin)
  await waitUntil(async () => (await rules.next()).value.length === 2)
})

t.test(
  'a service with its own account checks its callers, including callers of streams',
  async (t) => {
    const { server, admin } = await open(t)
    const service = createService(t, { name: 'orders', proxy: server.proxy, auth: AUTH })
    service.handle('Orders', {
      who: endpoint({ handle: (_, ctx) => ctx.account?.id ?? 'anonymous' }),
      watch: endpoint({
        stream: 'server',
        async *handle(_, ctx) {
          yield {}
          await new Promise((resolve) =>
            ctx.signal.addEventListener('abort', resolve, { once: true }),
          )
        },
      }),
    })
    await service.start()
    // Directly at the port of the service, without gateway and proxy.
    const { address } = service
    const anonymous = openClient(t, { address, retries: 0 })
    t.equal(await anonymous.call('orders', 'Orders.Who'), 'anonymous')
    const authenticated = openClient(t, { address, token: server.token, retries: 0 })
    t.equal(await authenticated.call('orders', 'Orders.Who'), 'admin')
    const invalid = openClient(t, { address, token: 'a.b.c', retries: 0 })
    await t.rejects(invalid.call('orders', 'Orders.Who'), { code: 401 })
    const stream = authenticated.stream('orders', 'Orders.Watch', {})
    await stream.next()
    await deny(admin)
    const startMs = performance.now()
    await t.rejects(stream.next(), { code: 401 })
    t.ok(performance.now() - startMs < 1000)
    await waitUntil(async () =>
      anonymous.call('orders', 'Orders.Who').then(
        () => false,
        ({ code }) => code === 401,
      ),
    )
  },
)

t.test(
  'calls with the context of a caller use its account, other calls the account of the service',
  async (t) => {
    const { server } = await open(t)
    const service = createService(t, { name: 'orders', proxy: server.proxy, auth: AUTH })
    service.handle('Orders', {
      passedOn: endpoint({
        handle: (_, ctx) =>
          service.client.call(
            'store',
            'Store.Write',
            { record: { key: 'a', value: '' } },
            { context: ctx },
          ),
      }),
      itself: endpoint({
        handle: () =>
          service.client.call('store', 'Store.Write', { record: { key: 'a', value: '' } }),
      }),
    })
    await service.start()
    const anonymous = { authorization: '' }
    t.equal((await server.get('/orders/itself', anonymous)).status, 200)
    t.match(await server.get('/orders/passedOn', anonymous), {
      status: 401,
      body: { Id: 'store.Store.Write', Detail: 'An account is required' },
    })
    t.equal((await server.get('/orders/passedOn')).status, 200)
  },
)

t.test('startup fails with a one-line error for wrong or missing credentials', async (t) => {
  const { server } = await open(t)
  const auth = { ...AUTH, secret: 'wrong' }
  const service = createService(t, { name: 'orders', proxy: server.proxy, auth })
  await t.rejects(service.start(), {
    message:
      /^cannot register orders \(mx\): [^\n]*Secret not correct[^\n]*: \S+ in the namespace mx \(MX_NAMESPACE names another\)$/,
  })
  const withoutCredentials = createService(t, { name: 'orders', proxy: server.proxy })
  await t.rejects(withoutCredentials.start(), {
    message: /An account is required; registering requires MX_AUTH_ID and MX_AUTH_SECRET$/,
  })
})

t.test('verifies API keys of a remote platform and counts requests there', async (t) => {
  const { server, admin } = await open(t)
  const source = createAuthSource(openClient(t, { proxy: server.proxy, auth: AUTH }))
  const { id, key } = await admin.call<{ id: string; key: string }>('auth', 'ApiKeys.Create', {
    ...{ name: 'ci', scopes: ['admin'], limits: { day: 5 } },
  })
  t.match(await source.verifyApiKey?.(parseApiKey(key)!), {
    account: { id: 'admin', scopes: ['admin'], apiKey: id },
    ...{ id: `${id}.1`, endsMs: Number.POSITIVE_INFINITY, limits: { day: 5 } },
  })
  await admin.call('auth', 'ApiKeys.Delete', { id })
  t.equal(await source.verifyApiKey?.(parseApiKey(key)!), undefined)
  const owner = { namespace: 'mx', account: 'jane', apiKey: '' }
  const counter = { quota: 'requests', period: 'day', ...owner } as const
  const quotas = source.requestQuotas!
  const lease = await quotas.reserve({ counter, limit: 100, requests: 5 })
  t.match(lease, { granted: 5, used: 5 })
  await quotas.release({ counter, epoch: lease.epoch, requests: 3 })
  t.match(await quotas.reserve({ counter, limit: 100, requests: 1 }), { used: 3 })
})

t.test('a service with its own account accepts API keys until they are deleted', async (t) => {
  const { server, admin } = await open(t)
  const service = createService(t, { name: 'orders', proxy: server.proxy, auth: AUTH })
  service.handle('Orders', { who: endpoint({ handle: (_, { account }) => ({ ...account }) }) })
  await service.start()
  const { id, key } = await admin.call<{ id: string; key: string }>('auth', 'ApiKeys.Create', {
    name: 'ci',
  })
  const client = openClient(t, { address: service.address, token: key, retries: 0 })
  t.match(await client.call('orders', 'Orders.Who'), { id: 'admin', scopes: [], apiKey: id })
  await admin.call('auth', 'ApiKeys.Delete', { id })
  await waitUntil(async () =>
    client.call('orders', 'Orders.Who').then(
      () => false,
      ({ code }) => code === 401,
    ),
  )
})
