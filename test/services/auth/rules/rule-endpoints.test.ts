import t from 'tap'
import type { Rule } from '../../../../core/contracts/auth.ts'
import {
  ADMIN,
  type Caller,
  nextMessageOf,
  openPlatformAuth,
} from '../../../fixtures/platform-auth.ts'

const SERVICE: Caller = { id: 'x-latest', type: 'service', scopes: ['service'] }
const JANE: Caller = { id: 'jane' }
const MEMBERS = { code: 401, message: 'An account is required' }
const ADMINS = { code: 401, message: /^Permission denied: / }
const LOGIN: Rule = {
  ...{ id: 'login', scope: '', access: 'GRANTED', priority: 0 },
  resource: { type: 'service', name: 'auth', endpoint: '*' },
}
const MEMBERS_ONLY: Rule = {
  ...{ id: 'onlyloggedin', scope: '*', access: 'GRANTED', priority: 0 },
  resource: { type: '*', name: '*', endpoint: '*' },
}

const NO_FIELDS = { name: '', type: '', values: [] }

interface List {
  readonly rules: readonly Rule[]
}

interface Update extends List {
  readonly more: boolean
}

t.test('lets administrators create and delete rules, and members list them', async (t) => {
  const { call, records } = await openPlatformAuth(t)
  await t.rejects(call('Rules.List'), { ...MEMBERS, id: 'auth.Rules.List' })
  await t.rejects(call('Rules.Create', { rule: LOGIN }), MEMBERS)
  await t.rejects(call('Rules.Create', { rule: LOGIN }, JANE), ADMINS)
  await t.rejects(call('Rules.Delete', { id: 'default' }, JANE), ADMINS)
  const ids = async () => (await call<List>('Rules.List', {}, JANE)).rules.map(({ id }) => id)
  t.same(await ids(), ['default'])
  await call('Rules.Create', { rule: MEMBERS_ONLY }, ADMIN)
  await call('Rules.Create', { rule: LOGIN }, ADMIN)
  await call('Rules.Delete', { id: 'default' }, ADMIN)
  t.same((await call<List>('Rules.List', {}, JANE)).rules, [LOGIN, MEMBERS_ONLY])
  t.match(records, [
    { action: 'rule.create', target: 'onlyloggedin: GRANTED *:*:* scope "*" priority 0' },
    { action: 'rule.create', target: 'login: GRANTED service:auth:* scope "" priority 0' },
    { action: 'rule.delete', target: 'default', account: 'mx/admin' },
  ])
})

t.test('accepts a resource as a string of three parts', async (t) => {
  const { call } = await openPlatformAuth(t)
  await call('Rules.Create', { rule: { ...LOGIN, resource: 'service:auth:*' } }, ADMIN)
  const { rules } = await call<List>('Rules.List', {}, ADMIN)
  t.match(
    rules.find(({ id }) => id === 'login'),
    LOGIN,
  )
  t.match(await call('Rules.Test', { resource: 'service:auth:Auth.Token' }, ADMIN), {
    granted: true,
  })
  for (const resource of ['service:auth', 'a:b:c:d', 5])
    await t.rejects(call('Rules.Create', { rule: { ...LOGIN, id: 'x', resource } }, ADMIN), {
      ...{ code: 400, message: /^request\.rule\.resource must be / },
    })
  await t.rejects(call('Rules.Test', { resource: 'service::Auth.Token' }, ADMIN), {
    ...{ code: 400, message: /^request\.resource\.name must be / },
  })
})

t.test('reports the invalid field of a request', async (t) => {
  const { call } = await openPlatformAuth(t)
  const create = (rule?: object) => call('Rules.Create', { rule }, ADMIN)
  const invalid = (rule: object | undefined, message: string | RegExp) =>
    t.rejects(create(rule), { id: 'auth.Rules.Create', code: 400, message })
  await invalid(undefined, 'Rule missing')
  await invalid({ ...LOGIN, id: '' }, 'ID missing')
  await invalid({ ...LOGIN, resource: undefined }, 'Resource missing')
  await invalid({ ...LOGIN, access: 'UNKNOWN' }, 'Access missing')
  await t.rejects(create({ ...LOGIN, priority: 2 ** 31 }), {
    ...{ code: 400, message: /^request\.rule\.priority must be/ },
  })
  await create(LOGIN)
  await invalid(LOGIN, 'A rule with this ID already exists')
  const remove = (id: string) => call('Rules.Delete', { id }, ADMIN)
  await t.rejects(remove(''), { code: 400, message: 'ID missing' })
  await t.rejects(remove('other'), { code: 400, message: 'Rule not found' })
})

t.test('rejects changes that lock out accounts without force', async (t) => {
  const { call } = await openPlatformAuth(t)
  await t.rejects(call('Rules.Delete', { id: 'default' }, ADMIN), { code: 409, message: /force/ })
  const acmeAdmin = { ...ADMIN, issuer: 'acme' }
  const forced = { id: 'default', force: true, options: { namespace: 'acme' } }
  const toDenial = (id: string) => ({
    ...{ id, code: 401 },
    message: `Permission denied: ${id} requires the scope admin in namespace mx when force is set`,
  })
  await t.rejects(call('Rules.Delete', forced, acmeAdmin), toDenial('auth.Rules.Delete'))
  const create = { ...forced, rule: LOGIN }
  await t.rejects(call('Rules.Create', create, acmeAdmin), toDenial('auth.Rules.Create'))
  const denial = { ...MEMBERS_ONLY, id: 'none', scope: '', access: 'DENIED' }
  await t.rejects(call('Rules.Create', { rule: denial }, ADMIN), { code: 409 })
  await call('Rules.Delete', { id: 'default', force: true }, ADMIN)
  t.same((await call<List>('Rules.List', {}, ADMIN)).rules, [])
})

t.test('evaluates the rules for a call and returns the rule that applies', async (t) => {
  const { call } = await openPlatformAuth(t)
  const resource = { type: 'service', name: 'helloworld', endpoint: 'Helloworld.Call' }
  const test = (request: object, caller?: Caller) =>
    call('Rules.Test', { resource, ...request }, caller)
  await t.rejects(test({}), MEMBERS)
  t.match(await test({}, JANE), { granted: true, rule: { id: 'default' } })
  await call('Auth.Generate', { id: 'jane', scopes: ['reader'] }, ADMIN)
  await call('Rules.Create', { rule: LOGIN }, ADMIN)
  await call('Rules.Create', { rule: { ...MEMBERS_ONLY, scope: 'reader' } }, ADMIN)
  await call('Rules.Delete', { id: 'default' }, ADMIN)
  t.same(await test({}, JANE), { granted: false, namespace: 'mx' }, 'no rule matches')
  t.match(await test({ account: 'jane' }, JANE), { granted: true, rule: { id: 'onlyloggedin' } })
  await t.rejects(test({ account: 'joe' }, JANE), ADMINS)
  await t.rejects(test({ account: 'joe' }, ADMIN), { message: 'Account not found with this ID' })
  t.match(await test({ account: 'jane' }, ADMIN), { granted: true })
  await t.rejects(test({ resource: { ...resource, name: '' } }, JANE), {
    ...{ code: 400, message: /^request\.resource\.name must be/ },
  })
})

t.test('evaluates a path like the gateway in any notation', async (t) => {
  const { call } = await openPlatformAuth(t)
  const resource = { type: 'service', name: 'site', endpoint: '/site/admin' }
  await call('Rules.Create', { rule: { ...LOGIN, id: 'no', access: 'DENIED', resource } }, ADMIN)
  for (const endpoint of ['/site/admin', '/site/%61dmin/', '//site/admin;v=1'])
    t.match(
      await call('Rules.Test', { resource: { ...resource, endpoint } }, ADMIN),
      { granted: false, rule: { id: 'no' } },
      endpoint,
    )
})

t.test('warns about an endpoint that the registered service does not have', async (t) => {
  const findService = (namespace: string, name: string) => {
    if (name === 'broken') throw new Error('connection refused')
    const endpoints = [{ name: 'Nums.Int', request: NO_FIELDS, response: NO_FIELDS, metadata: {} }]
    const hasRule = namespace === 'acme' && name === 'nums'
    return hasRule ? [{ name, version: '1', nodes: [], metadata: {}, endpoints }] : []
  }
  const { call } = await openPlatformAuth(t, { findService })
  const options = { namespace: 'acme' }
  const sendRequest = async (endpoint: string, overrides: object = {}, name = 'nums') => {
    const resource = `service:${name}:${endpoint}`
    const request = { resource, options, ...overrides }
    return (await call<{ warning?: string }>('Rules.Test', request, ADMIN)).warning
  }
  const invalid = 'matches no endpoint of nums, which has Nums.Int'
  t.equal(
    await sendRequest('/nums/*'),
    `/nums/* ${invalid}; rules apply to the endpoint that the path resolves to`,
  )
  t.equal(await sendRequest('Nums.Other'), `Nums.Other ${invalid}`)
  for (const endpoint of ['nums.int', 'Nums.*', '*'])
    t.equal(await sendRequest(endpoint), undefined)
  t.equal(await sendRequest('/nums/*', { domain: 'mx' }), undefined, 'another service')
  t.equal(
    await sendRequest('/nums/*', { options: {} }),
    undefined,
    'a service of another namespace',
  )
  t.equal(await sendRequest('/a', {}, 'nowhere'), undefined, 'not registered yet')
  t.match(
    await sendRequest('/a', {}, 'broken'),
    /^the registry is unavailable, \/a was not checked: conn/,
  )
  const rule = { ...LOGIN, id: 'no', resource: 'service:nums:/nums/*' }
  t.match(await call('Rules.Create', { rule, options }, ADMIN), { warning: /matches no endpoint/ })
})

t.test('evaluates a call into another namespace by the rules of both', async (t) => {
  const { call } = await openPlatformAuth(t)
  const options = { namespace: 'acme' }
  const resource = { type: 'service', name: 'helloworld', endpoint: 'Helloworld.Call' }
  const test = (overrides: object = {}) =>
    call('Rules.Test', { resource, options, ...overrides }, ADMIN)
  const granted = { granted: true, rule: { id: 'default' } }
  t.match(await test(), { ...granted, namespace: 'mx' })
  const denyingRule: Rule = { ...LOGIN, id: 'no', access: 'DENIED', resource, priority: 1 }
  await call('Rules.Create', { rule: denyingRule }, ADMIN)
  t.match(await test(), { granted: false, rule: { id: 'no' }, namespace: 'mx' })
  t.match(await test({ domain: 'acme' }), { ...granted, namespace: 'acme' })
  await call('Rules.Create', { rule: { ...denyingRule, id: 'own' }, options }, ADMIN)
  t.match(await test(), { granted: false, rule: { id: 'own' }, namespace: 'acme' })
})

t.test('streams complete rules to services and administrators after each change', async (t) => {
  const { call, watch } = await openPlatformAuth(t)
  await t.rejects(watch('Rules.Watch').next(), MEMBERS)
  await t.rejects(watch('Rules.Watch', {}, JANE).next(), ADMINS)
  const inAcme = { options: { namespace: 'acme' } }
  const otherIssuer = { ...SERVICE, issuer: 'other' }
  await t.rejects(watch('Rules.Watch', inAcme, otherIssuer).next(), { code: 403 })
  const all = [watch<Update>('Rules.Watch', {}, SERVICE), watch<Update>('Rules.Watch', {}, ADMIN)]
  for (const stream of all)
    t.match(await nextMessageOf(stream), { rules: [{ id: 'default' }], more: false })
  await call('Rules.Create', { rule: LOGIN, ...inAcme }, ADMIN)
  await call('Rules.Create', { rule: LOGIN }, ADMIN)
  for (const stream of all)
    t.match(await nextMessageOf(stream), { rules: [{ id: 'default' }, LOGIN], more: false })
})

t.test(
  'streams the namespaces with rules to services and administrators of the platform',
  async (t) => {
    const { call, watch } = await openPlatformAuth(t)
    const ENDPOINT = 'Rules.WatchNamespaces'
    await t.rejects(watch(ENDPOINT).next(), MEMBERS)
    await t.rejects(watch(ENDPOINT, {}, JANE).next(), ADMINS)
    await t.rejects(watch(ENDPOINT, {}, { ...SERVICE, issuer: 'acme' }).next(), { code: 403 })
    const names = Array.from({ length: 501 }, (_, i) => `acme-${String(i).padStart(3, '0')}`)
    for (const namespace of names)
      await call('Rules.Create', { rule: LOGIN, options: { namespace } }, ADMIN)
    const stream = watch<{ namespaces: string[]; more: boolean }>(ENDPOINT, {}, SERVICE)
    t.same(await nextMessageOf(stream), { namespaces: names.slice(0, 500), more: true })
    t.same(await nextMessageOf(stream), { namespaces: names.slice(500), more: false })
  },
)

t.test('splits many rules into several messages', async (t) => {
  const { call, watch } = await openPlatformAuth(t)
  const ids = Array.from({ length: 700 }, (_, i) => `rule${i}`)
  for (const id of ids) await call('Rules.Create', { rule: { ...LOGIN, id } }, ADMIN)
  const stream = watch<Update>('Rules.Watch', {}, ADMIN)
  const messages = [await nextMessageOf(stream), await nextMessageOf(stream)]
  t.same(
    messages.map(({ more }) => more),
    [true, false],
  )
  t.equal(messages.flatMap(({ rules }) => rules).length, 701)
})
