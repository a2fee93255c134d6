import t from 'tap'
import { createStaticRegistry } from '../../../adapters/registry/static.ts'
import { openAuthServer } from '../../fixtures/auth-endpoints.ts'
import {
  openPlatformRegistry,
  type Services,
  toRegistration,
} from '../../fixtures/platform-registry.ts'
import { makeService } from '../../fixtures/services.ts'

const GREETER = toRegistration('greeter', ['127.0.0.1:9001'])

/** Secret of accounts. */
const SECRET = 'correct horse'

t.test('a service is registered, found, listed and deregistered', async (t) => {
  const { call } = await openPlatformRegistry(t)
  t.same(await call('Register', { ...GREETER, version: '2', metadata: { owner: 'ann' } }), {})
  const entry = {
    name: 'greeter',
    version: '2',
    metadata: { owner: 'ann', domain: 'mx' },
    endpoints: [],
    nodes: [{ id: '127.0.0.1:9001', address: '127.0.0.1:9001', port: '9001', metadata: {} }],
    options: { ttl: 0, domain: 'mx' },
  }
  t.strictSame(await call('GetService', { service: 'greeter' }), { services: [entry] })
  const { services, next } = await call<Services>('ListServices')
  t.equal(next, undefined)
  t.strictSame(services[0], entry)
  t.match(services[1], { name: 'registry', endpoints: [{ name: 'Registry.GetService' }] })
  t.equal(services.length, 2)
  t.same(await call('Deregister', entry), {}, 'an entry as returned deregisters the service')
  await t.rejects(call('GetService', { service: 'greeter' }), {
    id: 'registry.Registry.GetService',
    code: 404,
    message: 'service not found: greeter',
  })
})

t.test('registering an entry as returned by GetService changes nothing', async (t) => {
  const { call, watch } = await openPlatformRegistry(t)
  const pairs = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`k${i}`, 'v']))
  await call('Register', { ...GREETER, metadata: pairs })
  const events = watch()
  const before = await call<Services>('GetService', { service: 'greeter' })
  await call('Register', before.services[0])
  t.strictSame(await call('GetService', { service: 'greeter' }), before)
  await call('Register', toRegistration('other', ['a:1']))
  t.match(
    (await events.next()).value,
    { service: { name: 'other' } },
    'no event for an unchanged registration',
  )
  await events.return?.()
})

t.test('versions are separate and sorted, and nodes of one version are merged', async (t) => {
  const { call } = await openPlatformRegistry(t)
  await call('Register', { ...GREETER, version: 'v2' })
  await call('Register', GREETER)
  await call('Register', toRegistration('greeter', ['127.0.0.1:9002'], { version: 'v2' }))
  const { services } = await call<Services>('GetService', { service: 'greeter' })
  t.strictSame(
    services.map(({ version, nodes }) => [version, ...nodes.map(({ port }) => port)]),
    [
      ['latest', '9001'],
      ['v2', '9001', '9002'],
    ],
  )
})

t.test('a node expires after its TTL, by default 90 s', async (t) => {
  const { call, clock } = await openPlatformRegistry(t)
  const isRegistered = async (service: string): Promise<boolean> =>
    call('GetService', { service }).then(
      () => true,
      () => false,
    )
  await call('Register', GREETER)
  await call('Register', toRegistration('none', ['a:1'], { options: { ttl: 0 } }))
  await call('Register', toRegistration('short', ['a:1'], { options: { ttl: '5' } }))
  await call('Register', toRegistration('long', ['a:1'], { options: { ttl: 3600 } }))
  clock.seconds = 4
  t.ok(await isRegistered('short'))
  clock.seconds = 5
  t.notOk(await isRegistered('short'))
  clock.seconds = 89
  t.ok((await isRegistered('greeter')) && (await isRegistered('none')))
  clock.seconds = 90
  t.notOk((await isRegistered('greeter')) || (await isRegistered('none')))
  t.ok(await isRegistered('long'))
})

t.test('domains are separate, and * reads all of them', async (t) => {
  const { call } = await openPlatformRegistry(t)
  const staging = { domain: 'staging' }
  await call('Register', GREETER)
  await call('Register', { ...GREETER, options: staging })
  await call('Register', toRegistration('only', ['a:1'], { options: staging }))
  const listed = async (options?: object): Promise<string[]> =>
    (await call<Services>('ListServices', { options })).services.map(
      ({ name, metadata, options }) => `${name} ${metadata['domain']} ${options.domain}`,
    )
  t.strictSame(await listed(), ['greeter mx mx', 'registry mx mx'])
  t.strictSame(await listed(staging), ['greeter staging staging', 'only staging staging'])
  t.strictSame(await listed({ domain: '*' }), [
    'greeter mx mx',
    'greeter staging staging',
    'only staging staging',
    'registry mx mx',
  ])
  t.strictSame(await listed({ domain: 'unknown' }), [])
  const { services } = await call<Services>('GetService', {
    service: 'greeter',
    options: { domain: '*' },
  })
  t.strictSame(
    services.map(({ options }) => options.domain),
    ['mx', 'staging'],
  )
  await t.rejects(call('GetService', { service: 'only' }), { code: 404 })
  t.same(await call('Deregister', { ...GREETER, options: staging }), {})
  t.strictSame(await listed(staging), ['only staging staging'])
  t.equal((await call<Services>('GetService', { service: 'greeter' })).services.length, 1)
})

t.test(
  'rejects writing to domain * with 400, and reading or deregistering creates no domain',
  async (t) => {
    const opened: string[] = []
    const { call } = await openPlatformRegistry(t, {
      createRegistry(domain) {
        opened.push(domain)
        return createStaticRegistry([])
      },
    })
    for (const method of ['Register', 'Deregister'])
      await t.rejects(call(method, { ...GREETER, options: { domain: '*' } }), {
        id: `registry.Registry.${method}`,
        code: 400,
        message: 'request.options.domain must be one domain, got "*"',
      })
    await call('ListServices', { options: { domain: 'a' } })
    await call('Deregister', { ...GREETER, options: { domain: 'b' } })
    t.strictSame(opened, ['mx'])
  },
)

t.test('deregistering an unknown service, node or version succeeds', async (t) => {
  const { call } = await openPlatformRegistry(t)
  t.same(await call('Deregister', GREETER), {})
  await call('Register', GREETER)
  t.same(await call('Deregister', toRegistration('greeter', ['127.0.0.1:9009'])), {})
  t.same(await call('Deregister', { ...GREETER, version: 'v9' }), {})
  t.equal((await call<Services>('GetService', { service: 'greeter' })).services.length, 1)
})

t.test('rejects deregistering without nodes with 400', async (t) => {
  const { call } = await openPlatformRegistry(t)
  await call('Register', GREETER)
  for (const nodes of [[], null, undefined])
    await t.rejects(call('Deregister', { name: 'greeter', nodes }), {
      code: 400,
      message: 'request.nodes must list at least one node to remove',
    })
  t.equal((await call<Services>('GetService', { service: 'greeter' })).services.length, 1)
})

t.test('an empty version and a null list or map count as omitted', async (t) => {
  const { call } = await openPlatformRegistry(t)
  const node = { id: 'a', address: '127.0.0.1:9001', metadata: null }
  const input = { name: 'greeter', version: '', metadata: null, nodes: [node] }
  await call('Register', { ...input, endpoints: null })
  await call('Register', { ...input, endpoints: [{ name: 'A.B', metadata: null }] })
  const { services } = await call<Services>('GetService', { service: 'greeter' })
  t.match(services, [
    { version: 'latest', endpoints: [{ name: 'A.B', metadata: {} }], nodes: [{ metadata: {} }] },
  ])
  t.equal(services.length, 1)
  t.same(await call('Deregister', input), {})
  await t.rejects(call('GetService', { service: 'greeter' }), { code: 404 })
})

t.test('a read-only registry can be read, and rejects registrations with 501', async (t) => {
  const { call } = await openPlatformRegistry(t, {
    createRegistry: () => createStaticRegistry([makeService('greeter', ['a:1'])]),
  })
  t.match(await call('GetService', { service: 'greeter' }), { services: [{ name: 'greeter' }] })
  for (const method of ['Register', 'Deregister'])
    await t.rejects(call(method, GREETER), {
      code: 501,
      message: 'the registry static is read-only',
    })
})

t.test(
  'descriptions of endpoints are stored completely, and unknown fields are dropped',
  async (t) => {
    const { call } = await openPlatformRegistry(t)
    const field = { name: 'name', type: 'string', values: [] }
    const request = { name: 'CallRequest', type: 'CallRequest', values: [field] }
    const response = { name: 'CallResponse', type: 'CallResponse', values: [] }
    const metadata = { stream: 'true', requestSchema: 'x'.repeat(5000) }
    const endpoint = { name: 'Greeter.Call', request, response, metadata }
    await call('Register', {
      ...GREETER,
      extra: 1,
      endpoints: [
        { ...endpoint, extra: 1, request: { ...request, extra: 1 } },
        { name: 'Greeter.Bare' },
      ],
    })
    const { services } = await call<Services>('GetService', { service: 'greeter' })
    const empty = { name: '', type: '', values: [] }
    t.strictSame(services[0]?.endpoints, [
      endpoint,
      { name: 'Greeter.Bare', request: empty, response: empty, metadata: {} },
    ])
    t.notOk('extra' in services[0]!)
  },
)

t.test('rejects a new version beyond 100 000 in a domain with 429', async (t) => {
  const { call, registry } = await openPlatformRegistry(t)
  for (let i = 1; i < 100_000; i++) await registry.register?.(makeService(`s${i}`, ['a:1']))
  await t.rejects(call('Register', GREETER), {
    code: 429,
    message: 'limit of 100000 versions in mx reached',
  })
  t.same(
    await call('Register', toRegistration('s1', ['a:2'])),
    {},
    'an existing version may get more nodes',
  )
})

t.test(
  'rejects a name that differs from a registered one only in letter case with 409',
  async (t) => {
    const { call } = await openPlatformRegistry(t)
    await call('Register', toRegistration('shop', ['127.0.0.1:9001']))
    await t.rejects(call('Register', toRegistration('Shop', ['127.0.0.1:9002'])), {
      code: 409,
      message: /^the name Shop differs from the registered service shop only in letter case/,
    })
    const domain = 'acme'
    const otherDomain = { ...toRegistration('Shop', ['127.0.0.1:9002']), options: { domain } }
    t.same(await call('Register', otherDomain), {}, 'names are separate per domain')
    const differentCase = {
      ...toRegistration('shop', ['127.0.0.1:9003']),
      options: { domain: 'MX' },
    }
    await t.rejects(call('Register', differentCase), {
      code: 400,
      message: /mx in lower case only/,
    })
  },
)

t.test(
  'only operators register built-in services, and accounts only in their own namespace',
  async (t) => {
    const { sendRequest, transports, admin, logIn } = await openAuthServer(t, [
      '--register_allow=loopback',
    ])
    await sendRequest('Auth.Generate', {
      id: 'svc',
      type: 'service',
      scopes: ['service'],
      secret: SECRET,
    })
    const options = { namespace: 'acme' }
    await sendRequest('Auth.Generate', { id: 'ann', scopes: ['admin'], secret: SECRET, options })
    const deployed = await logIn('svc', SECRET)
    const tenant = await logIn('ann', SECRET, 'acme')
    const write = async (method: string, name: string, token: string, domain: string) => {
      const entry = { ...toRegistration(name, ['127.0.0.1:9001']), options: { domain } }
      return (await transports.gateway('registry', `Registry.${method}`, entry, token)).code
    }
    for (const method of ['Register', 'Deregister']) {
      t.equal(await write(method, 'greeter', deployed, 'mx'), 200)
      t.equal(await write(method, 'auth', deployed, 'mx'), 401, method)
      t.equal(await write(method, 'greeter', deployed, 'acme'), 403, method)
      t.equal(await write(method, 'greeter', tenant, 'acme'), 200)
      for (const name of ['auth', 'AUTH', 'Auth', 'sTore'])
        t.equal(await write(method, name, tenant, 'acme'), 403, `${method} ${name}`)
      t.equal(await write(method, 'auth', admin, 'mx'), 200)
    }
  },
)
