import t, { type Test } from 'tap'
import { parseApiKey } from '../../../../core/auth/token/api-key.ts'
import { ADMIN, type Caller, openPlatformAuth } from '../../../fixtures/platform-auth.ts'

const JANE: Caller = { id: 'jane', scopes: ['deploy', 'read'] }
const JOE: Caller = { id: 'joe' }
const SERVICE: Caller = { id: 'gateway', type: 'service', scopes: ['service'] }
const NOT_FOUND = { code: 400, message: 'API key not found with this ID' }

interface View {
  readonly id: string
  readonly account: string
  readonly name: string
  readonly expires: number
}
interface Created extends View {
  readonly key: string
}

async function open(t: Test) {
  const auth = await openPlatformAuth(t)
  for (const { id, scopes = [] } of [JANE, JOE])
    await auth.call('Auth.Generate', { id, scopes, secret: 'password' }, ADMIN)
  await auth.call('Auth.Generate', { id: 'eve', options: { namespace: 'acme' } }, ADMIN)
  const create = (caller: Caller | undefined, request: object = {}) =>
    auth.call<Created>('ApiKeys.Create', { name: 'ci', ...request }, caller)
  const list = async (caller: Caller, request: object = {}) =>
    (await auth.call<{ keys: readonly View[] }>('ApiKeys.List', request, caller)).keys
  const verify = (key: string, caller: Caller | undefined = SERVICE) =>
    auth.call<{ session?: { account: object } }>('ApiKeys.Verify', parseApiKey(key), caller)
  return { ...auth, create, list, verify }
}

t.test('an account creates, lists, rotates and deletes its own keys', async (t) => {
  const { create, list, call, verify, clock } = await open(t)
  const created = await create(JANE, { scopes: ['read'], expiry: 60, limits: { day: 5 } })
  const { key, ...view } = created
  t.strictSame(view, {
    ...{ id: parseApiKey(key)!.id, account: 'jane', namespace: 'mx', name: 'ci', scopes: ['read'] },
    limits: { day: 5, month: 0 },
    ...{ created: Math.floor(clock.ms / 1000), expires: Math.floor((clock.ms + 60_000) / 1000) },
    ...{ previous_expires: 0, last_used: 0 },
  })
  t.strictSame(await list(JANE), [view])
  t.match(await verify(key), { session: { account: { id: 'jane', apiKey: view.id } } })
  const rotated = await call<Created>('ApiKeys.Rotate', { id: view.id, grace: 30 }, JANE)
  t.not(rotated.key, key)
  t.ok((await verify(key)).session)
  await call('ApiKeys.Delete', { id: view.id }, JANE)
  t.strictSame(await verify(rotated.key), {})
  await t.rejects(call('ApiKeys.Delete', { id: view.id }, JANE), NOT_FOUND)
})

t.test('an account cannot manage keys of other accounts, an administrator can', async (t) => {
  const { create, list, call } = await open(t)
  const { id } = await create(JANE)
  const denied = { code: 401, message: /requires the scope admin/ }
  await t.rejects(create(undefined), { code: 401, message: 'An account is required' })
  await t.rejects(create(JOE, { account: 'jane' }), denied)
  await t.rejects(list(JOE, { account: 'jane' }), denied)
  await t.rejects(list(JOE, { account: '*' }), denied)
  await t.rejects(call('ApiKeys.Rotate', { id }, JOE), NOT_FOUND)
  await t.rejects(call('ApiKeys.Delete', { id }, JOE), NOT_FOUND)
  await t.rejects(create({ ...JANE, issuer: 'acme' }), { code: 403 })
  await create(ADMIN, { account: 'joe' })
  t.match(await list(ADMIN, { account: '*' }), [{ account: 'jane' }, { account: 'joe' }])
  await call('ApiKeys.Delete', { id }, ADMIN)
  t.same(await list(ADMIN, { account: 'jane' }), [])
})

t.test('keys belong to the namespace of their account', async (t) => {
  const { create, list, call } = await open(t)
  const acme = { options: { namespace: 'acme' } }
  const { id } = await create(ADMIN, { account: 'eve', ...acme })
  t.match(await list({ id: 'eve', issuer: 'acme' }, acme), [{ id }])
  await t.rejects(call('ApiKeys.Delete', { id }, ADMIN), NOT_FOUND)
  const own = { code: 400, message: 'request.account must be an account of the namespace acme' }
  await t.rejects(create(ADMIN, acme), own)
  await call('ApiKeys.Delete', { id, ...acme }, ADMIN)
})

t.test('rejects scopes that the owner or the caller lacks, and malformed names', async (t) => {
  const { create } = await open(t)
  await t.rejects(create(JANE, { scopes: ['admin'] }), {
    code: 400,
    message: /scope of the caller/,
  })
  await t.rejects(create(ADMIN, { account: 'jane', scopes: ['admin'] }), {
    message: /scope of the account jane/,
  })
  await t.rejects(create({ id: 'jane', scopes: ['read'] }, { scopes: ['deploy'] }), { code: 400 })
  await t.rejects(create(ADMIN, { account: 'nobody' }), { code: 400, message: /not found/ })
  for (const name of ['', 'a\nb', 'x'.repeat(129)])
    await t.rejects(create(JANE, { name }), { code: 400, message: /^request.name must be/ })
})

t.test('a caller with an API key rotates and deletes only this key', async (t) => {
  const { create, call } = await open(t)
  const [first, second] = [await create(JANE), await create(JANE)]
  const caller: Caller = { ...JANE, apiKey: first.id }
  const denied = { code: 401, message: /API keys cannot manage other API keys/ }
  await t.rejects(create(caller), denied)
  await t.rejects(call('ApiKeys.Rotate', { id: second.id }, caller), denied)
  await t.rejects(call('ApiKeys.Delete', { id: second.id }, caller), denied)
  await call('ApiKeys.Rotate', { id: first.id }, caller)
  await call('ApiKeys.Delete', { id: first.id }, caller)
})

t.test('a workload has no API keys', async (t) => {
  const { create } = await open(t)
  const workload = { id: 'shop', type: 'service', scopes: ['workload:mx/shop'] } as const
  await t.rejects(create(workload), { code: 401 })
})

t.test('only services and administrators verify keys', async (t) => {
  const { create, verify } = await open(t)
  const { key } = await create(JANE)
  await t.rejects(verify(key, JANE), { code: 403 })
  t.ok((await verify(key, ADMIN)).session)
  t.match(await verify(key), { session: { endsMs: 0, limits: {} } })
})

t.test('changes are audited without secrets', async (t) => {
  const { create, call, records } = await open(t)
  const { id, key } = await create(JANE)
  await call('ApiKeys.Rotate', { id }, JANE)
  await call('ApiKeys.Delete', { id }, ADMIN)
  t.match(records.slice(-3), [
    { action: 'api-key.create', target: `jane/${id}`, account: 'mx/jane' },
    { action: 'api-key.rotate', target: `jane/${id}`, account: 'mx/jane' },
    { action: 'api-key.delete', target: `jane/${id}`, account: 'mx/admin' },
  ])
  t.notMatch(JSON.stringify(records), key.split('_').at(-1)!)
})
