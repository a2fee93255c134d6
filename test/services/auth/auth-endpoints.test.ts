import { createPublicKey } from 'node:crypto'
import t from 'tap'
import { verifyToken } from '../../../core/auth/token/access-token.ts'
import type { TokenState } from '../../../services/auth/tokens/stream-token-state.ts'
import {
  ADMIN,
  type Caller,
  nextMessageOf,
  openPlatformAuth,
  type PlatformAuth,
  type TokenReply,
} from '../../fixtures/platform-auth.ts'

const SERVICE: Caller = { id: 'x-latest', type: 'service', scopes: ['service'] }
const USER: Caller = { id: 'joe' }
const OTHER: Caller = { id: 'boss', issuer: 'acme', scopes: ['admin'] }
const MEMBERS = { code: 401, message: 'An account is required' }
const ADMINS = { code: 401, message: /^Permission denied: / }
const ACCESS_DENIED = { code: 403, message: 'Access denied to namespace' }

/** Creates an account and logs in. */
async function logIn({ call }: PlatformAuth, id: string, overrides: object = {}) {
  await call('Auth.Generate', { id, secret: 'password', ...overrides }, ADMIN)
  const { token } = await call<TokenReply>('Auth.Token', { id, secret: 'password' })
  return token
}

/** Whether an access token is accepted. */
const isAccepted = ({ call }: PlatformAuth, token: string): Promise<boolean> =>
  call('Auth.Inspect', { token }).then(
    () => true,
    () => false,
  )

t.test('allows only administrators of the namespace to create accounts', async (t) => {
  const { call } = await openPlatformAuth(t)
  const make = (caller?: Caller, request = {}) =>
    call('Auth.Generate', { id: 'a', ...request }, caller)
  await t.rejects(make(), { ...MEMBERS, id: 'auth.Auth.Generate' })
  await t.rejects(make(USER), ADMINS)
  await t.rejects(make(OTHER), ACCESS_DENIED)
  const inAcme = { options: { namespace: 'acme' } }
  t.match(await make(OTHER, inAcme), { account: { id: 'a', issuer: 'acme' } })
  t.match(await make(ADMIN, { ...inAcme, id: 'b' }), { account: { issuer: 'acme' } })
  for (const scope of ['service', 'workload:mx/shop'])
    t.match(await make(ADMIN, { id: scope.slice(0, 8), type: 'service', scopes: [scope] }), {
      account: { type: 'service', issuer: 'mx', scopes: [scope] },
    })
  const workload = { ...SERVICE, scopes: ['workload:mx/shop'] }
  for (const caller of [SERVICE, workload])
    for (const scopes of [[], ['service'], ['workload:mx/shop'], ['admin']])
      await t.rejects(make(caller, { id: 'd', scopes }), ADMINS, `${caller.scopes}: ${scopes}`)
})

t.test('requires workload scopes of services in the namespace of the account', async (t) => {
  const { call } = await openPlatformAuth(t)
  const make = (scope: string, namespace = 'mx') =>
    call('Auth.Generate', { id: 'a', scopes: [scope], options: { namespace } }, ADMIN)
  for (const scope of [
    'workload:acme/shop',
    'workload:mx/auth',
    'workload:mx/AUTH',
    'workload:mx',
    'workload:mx/a/b',
  ])
    await t.rejects(make(scope), { code: 400, message: /^request\.scopes\[0\] must be / }, scope)
  const long = `workload:acme/${'a'.repeat(200)}`
  t.match(await make(long, 'acme'), { account: { issuer: 'acme', scopes: [long] } })
})

t.test('reports the invalid field of a new account', async (t) => {
  const { call } = await openPlatformAuth(t)
  const make = (request: object) => call('Auth.Generate', request, ADMIN)
  const invalid = (request: object, message: string | RegExp) =>
    t.rejects(make(request), { id: 'auth.Auth.Generate', code: 400, message })
  await invalid({}, 'ID required')
  await make({ id: 'a', name: 'A' })
  await invalid({ id: 'a' }, 'Account with this ID already exists')
  await invalid({ id: 'b', name: 'A' }, 'Account with this Name already exists')
  await invalid({ id: 'c', type: 'robot' }, 'request.type must be user or service, got "robot"')
  await invalid({ id: 'c', scopes: ['a', 'b c'] }, /^request\.scopes\[1\] must be/)
  await invalid({ id: 'c', metadata: { text: 'x'.repeat(2000) } }, /at most 2000 bytes/)
  await t.rejects(make({ id: 'c', options: { namespace: 'a b' } }), {
    ...{ id: 'auth', code: 400, message: /^request\.options\.namespace must be/ },
  })
})

t.test('rejects a login with a wrong secret without revealing which accounts exist', async (t) => {
  const auth = await openPlatformAuth(t)
  await logIn(auth, 'jane')
  const { call } = auth
  const invalid = (request: object, message: string) =>
    t.rejects(call('Auth.Token', request), { id: 'auth.Auth.Token', code: 400, message })
  await invalid({}, 'Credentials or a refresh token required')
  await invalid({ id: 'jane' }, 'Credentials or a refresh token required')
  const same = 'Secret not correct, or no account with this ID'
  await invalid({ id: 'jane', secret: 'another one' }, same)
  await invalid({ id: 'unknown', secret: 'another one' }, same)
  await invalid({ id: 'jane', secret: 'password', options: { namespace: 'acme' } }, same)
  await invalid({ refresh_token: 'x' }, 'invalid or already used refresh token; log in again')
})

t.test('issues tokens with the requested lifetime, from a second to an hour', async (t) => {
  const auth = await openPlatformAuth(t)
  await logIn(auth, 'jane')
  const sendRequest = async (token_expiry: unknown) => {
    const request = { id: 'jane', secret: 'password', token_expiry }
    const { token } = await auth.call<TokenReply>('Auth.Token', request)
    return token.expiry - token.created
  }
  t.equal(await sendRequest(0), 900)
  t.equal(await sendRequest(1), 1)
  t.equal(await sendRequest('3600'), 3600)
  for (const invalid of [3601, -1, 1.5])
    await t.rejects(sendRequest(invalid), { code: 400, message: /request\.token_expiry/ })
})

t.test('ends the login and audits the reuse of a refresh token', async (t) => {
  const auth = await openPlatformAuth(t)
  const first = await logIn(auth, 'jane')
  const refresh = async (refresh_token: string) =>
    (await auth.call<TokenReply>('Auth.Token', { refresh_token }, undefined, '192.0.2.1')).token
  const second = await refresh(first.refresh_token)
  t.ok(await isAccepted(auth, second.access_token))
  auth.clock.ms += 60_000
  await t.rejects(refresh(first.refresh_token), { code: 400 })
  t.notOk(await isAccepted(auth, second.access_token))
  t.match(auth.records.at(-1), {
    ...{ action: 'token.reused', namespace: 'mx', target: 'jane', account: '' },
    address: '192.0.2.1',
  })
})

t.test('rejects logins from an address after too many failures', async (t) => {
  const auth = await openPlatformAuth(t)
  await logIn(auth, 'jane')
  const attempt = (secret: string, address = '192.0.2.1') =>
    auth.call('Auth.Token', { id: 'jane', secret }, undefined, address)
  for (let i = 0; i < 5; i++) await t.rejects(attempt('guess'), { code: 400 })
  await t.rejects(attempt('password'), { code: 429, headers: ['retry-after', '60'] })
  t.ok(await attempt('password', '192.0.2.2'))
  const rejected = () => auth.records.filter(({ action }) => action === 'login.refused')
  t.match(rejected(), [{ namespace: 'mx', target: 'jane', address: '192.0.2.1' }])
  for (let i = 0; i < 10; i++) await t.rejects(attempt('guess'), { code: 429 })
  t.equal(rejected().length, 1, 'audited once')
  auth.clock.ms += 60_000
  t.ok(await attempt('password'))
})

t.test('audits unknown refresh tokens at most once a minute', async (t) => {
  const auth = await openPlatformAuth(t)
  const refresh = (refresh_token: string, address: string) =>
    t.rejects(auth.call('Auth.Token', { refresh_token }, undefined, address), { code: 400 })
  const { refresh_token } = await logIn(auth, 'jane')
  await auth.call('Auth.Revoke', { id: 'jane' }, ADMIN)
  const before = auth.records.length
  await refresh(refresh_token, '192.0.2.1')
  for (let i = 0; i < 10; i++) await refresh('x'.repeat(68), '192.0.2.1')
  await refresh('x', '192.0.2.2')
  const entry = { action: 'refresh.failed', namespace: 'mx', account: '' }
  t.match(auth.records.slice(before), [
    { ...entry, target: 'jane', address: '192.0.2.1' },
    { ...entry, target: '', address: '192.0.2.2' },
  ])
  auth.clock.ms += 60_000
  await refresh('x', '192.0.2.1')
  t.equal(auth.records.length, before + 3)
})

t.test('audits every change and failed login without secrets', async (t) => {
  const auth = await openPlatformAuth(t)
  await logIn(auth, 'jane')
  const { call, records } = auth
  await t.rejects(call('Auth.Token', { id: 'jane', secret: 'guess' }, undefined, '192.0.2.1'))
  await call('Auth.Revoke', { id: 'jane' }, ADMIN)
  await call('Auth.RotateKey', {}, ADMIN)
  t.match(records, [
    { action: 'account.create', target: 'jane', namespace: 'mx', account: 'mx/admin' },
    { action: 'login.failed', target: 'jane', account: '', address: '192.0.2.1' },
    { action: 'account.revoke', target: 'jane', account: 'mx/admin', time: auth.clock.ms },
    { action: 'key.rotate', account: 'mx/admin' },
  ])
  t.notMatch(JSON.stringify([records, auth.lines]), /guess|pass/)
})

t.test('rejects the inspection of an invalid token', async (t) => {
  const auth = await openPlatformAuth(t)
  const invalid = { id: 'auth.Auth.Inspect', code: 400, message: 'invalid token provided' }
  await t.rejects(auth.call('Auth.Inspect', {}), invalid)
  await t.rejects(auth.call('Auth.Inspect', { token: 'a.b.c' }), invalid)
})

t.test('lets the owner of a token revoke it', async (t) => {
  const auth = await openPlatformAuth(t)
  const { access_token, refresh_token } = await logIn(auth, 'jane')
  await auth.call('Auth.Revoke', { token: access_token })
  t.notOk(await isAccepted(auth, access_token))
  await auth.call('Auth.Revoke', { refresh_token })
  await t.rejects(auth.call('Auth.Token', { refresh_token }), { code: 400 })
  t.same(
    await auth.call('Auth.Revoke', { token: 'nonsense' }),
    {},
    'RFC 7009: an invalid token is not an error',
  )
  t.match(auth.records.slice(-2), [
    { action: 'token.revoke', target: 'jane' },
    { action: 'refresh.failed', target: '' },
  ])
  await t.rejects(auth.call('Auth.Revoke', {}), { code: 400, message: 'token or ID required' })
})

t.test('lets an account or an administrator revoke all its tokens', async (t) => {
  const auth = await openPlatformAuth(t)
  const jane: Caller = { id: 'jane' }
  const first = await logIn(auth, 'jane')
  await t.rejects(auth.call('Auth.Revoke', { id: 'jane' }), MEMBERS)
  await t.rejects(auth.call('Auth.Revoke', { id: 'jane' }, USER), ADMINS)
  await auth.call('Auth.Revoke', { id: 'jane' }, jane)
  t.notOk(await isAccepted(auth, first.access_token))
  await t.rejects(auth.call('Auth.Revoke', { id: 'unknown' }, ADMIN), {
    ...{ code: 400, message: 'Account not found with this ID' },
  })
})

t.test('publishes the public keys, which verify tokens', async (t) => {
  const auth = await openPlatformAuth(t)
  const { access_token } = await logIn(auth, 'jane')
  const { keys } = await auth.call<Pick<TokenState, 'keys'>>('Auth.Keys')
  t.match(keys, [{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid: String, x: String }])
  t.notOk('d' in keys[0]!)
  const byId = new Map(
    keys.map((jwk) => [jwk.kid, createPublicKey({ key: { ...jwk }, format: 'jwk' })]),
  )
  t.match(await verifyToken(access_token, byId, auth.clock.ms), { account: { id: 'jane' } })
})

t.test('allows only administrators of the platform to rotate keys', async (t) => {
  const auth = await openPlatformAuth(t)
  const { access_token } = await logIn(auth, 'jane')
  const rotate = (caller?: Caller, request = {}) =>
    auth.call<{ kid: string }>('Auth.RotateKey', request, caller)
  await t.rejects(rotate(), MEMBERS)
  for (const caller of [USER, SERVICE]) await t.rejects(rotate(caller), ADMINS)
  await t.rejects(rotate(OTHER), ACCESS_DENIED)
  const { kid } = await rotate(ADMIN)
  const { keys } = await auth.call<Pick<TokenState, 'keys'>>('Auth.Keys')
  t.equal(keys.length, 2)
  t.ok(keys.some((key) => key.kid === kid))
  t.ok(await isAccepted(auth, access_token))
  await rotate(ADMIN, { drop: true })
  t.notOk(await isAccepted(auth, access_token))
})

t.test('streams the keys, and each revocation that concerns the watcher once', async (t) => {
  const auth = await openPlatformAuth(t)
  await auth.call('Auth.Generate', { id: 'jane' }, ADMIN)
  await auth.call('Auth.Generate', { id: 'ann', options: { namespace: 'acme' } }, ADMIN)
  await auth.call('Auth.Revoke', { id: 'jane' }, ADMIN)
  const watch = (caller?: Caller) => auth.watch<TokenState>('Auth.Watch', {}, caller)
  const [anonymous, user, service, other] = [undefined, USER, SERVICE, OTHER].map(watch)
  const first = await nextMessageOf(service!)
  t.equal(first.keys.length, 1)
  t.match(first.revoked, [{ id: '', namespace: 'mx', account: 'jane' }])
  t.same(await nextMessageOf(other!), first, 'accounts of mx may also be administrators of acme')
  for (const stream of [anonymous, user])
    t.same(await nextMessageOf(stream!), { ...first, revoked: [] })
  await auth.call('Auth.Revoke', { id: 'ann', options: { namespace: 'acme' } }, ADMIN)
  const ann = [{ namespace: 'acme', account: 'ann' }]
  t.match((await nextMessageOf(service!)).revoked, ann)
  t.match((await nextMessageOf(other!)).revoked, ann)
  await auth.call('Auth.RotateKey', {}, ADMIN)
  for (const stream of [anonymous, user, service, other]) {
    const { keys, revoked } = await nextMessageOf(stream!)
    t.same([keys.length, revoked.length], [2, 0])
  }
})
