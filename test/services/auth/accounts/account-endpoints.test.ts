import t from 'tap'
import {
  ADMIN,
  type Caller,
  openPlatformAuth,
  type PlatformAuth,
  type TokenReply,
} from '../../../fixtures/platform-auth.ts'

const SERVICE: Caller = { id: 'x-latest', type: 'service', scopes: ['service'] }
const JANE: Caller = { id: 'jane' }
const MEMBERS = { code: 401, message: 'An account is required' }
const ADMINS = { code: 401, message: /^Permission denied: / }
const NOT_FOUND = { code: 400, message: 'Account not found with this ID' }

async function open(...args: Parameters<typeof openPlatformAuth>): Promise<PlatformAuth> {
  const auth = await openPlatformAuth(...args)
  for (const id of ['jane', 'joe', 'kim'])
    await auth.call('Auth.Generate', { id, secret: 'password' }, ADMIN)
  return auth
}

interface Page {
  readonly accounts: readonly { readonly id: string }[]
  readonly next?: string
}

t.test('lists accounts to administrators, paginated and without secrets', async (t) => {
  const { call } = await open(t)
  await t.rejects(call('Accounts.List'), { ...MEMBERS, id: 'auth.Accounts.List' })
  await t.rejects(call('Accounts.List', {}, JANE), ADMINS)
  await t.rejects(call('Accounts.List', {}, SERVICE), ADMINS)
  const all = await call<Page>('Accounts.List', {}, ADMIN)
  t.match(all.accounts, [{ id: 'jane', name: 'jane' }, { id: 'joe' }, { id: 'kim' }])
  t.notMatch(JSON.stringify(all), /secret|hash|scrypt|since/)
  const first = await call<Page>('Accounts.List', { limit: 2 }, ADMIN)
  t.same([first.accounts.length, first.next], [2, 'joe'])
  const rest = await call<Page>('Accounts.List', { limit: 2, after: first.next }, ADMIN)
  t.same([rest.accounts.map(({ id }) => id), rest.next], [['kim'], undefined])
  t.same(
    (await call<Page>('Accounts.List', { options: { namespace: 'acme' } }, ADMIN)).accounts,
    [],
  )
})

t.test('deletes an account, which can no longer log in', async (t) => {
  const { call, records } = await open(t)
  const remove = (id: string, caller?: Caller) => call('Accounts.Delete', { id }, caller)
  await t.rejects(remove('joe'), MEMBERS)
  await t.rejects(remove('joe', JANE), ADMINS)
  await t.rejects(remove('', ADMIN), { code: 400, message: 'Missing ID' })
  await t.rejects(remove('admin', ADMIN), { code: 400, message: "Can't delete your own account" })
  await t.rejects(remove('unknown', ADMIN), NOT_FOUND)
  const { token } = await call<TokenReply>('Auth.Token', { id: 'joe', secret: 'password' })
  await remove('joe', ADMIN)
  await t.rejects(remove('joe', ADMIN), NOT_FOUND)
  await t.rejects(call('Auth.Token', { id: 'joe', secret: 'password' }), { code: 400 })
  await t.rejects(call('Auth.Inspect', { token: token.access_token }), { code: 400 })
  t.match(
    records.filter(({ action }) => action === 'account.delete'),
    [{ target: 'joe', account: 'mx/admin' }],
  )
})

t.test('allows only administrators to delete administrators', async (t) => {
  const { call } = await open(t)
  await call('Auth.Generate', { id: 'boss', scopes: ['admin'] }, ADMIN)
  await t.rejects(call('Accounts.Delete', { id: 'boss' }, SERVICE), ADMINS)
  await call('Accounts.Delete', { id: 'boss' }, ADMIN)
})

t.test('retains one of two administrators that delete each other concurrently', async (t) => {
  const { call } = await open(t)
  const admins: Caller[] = ['anna', 'bob'].map((id) => ({ id, scopes: ['admin'] }))
  for (const { id, scopes } of admins) await call('Auth.Generate', { id, scopes }, ADMIN)
  const done = await Promise.allSettled([
    call('Accounts.Delete', { id: 'bob' }, admins[0]),
    call('Accounts.Delete', { id: 'anna' }, admins[1]),
  ])
  t.same(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.match(
    done.find(({ status }) => status === 'rejected'),
    { reason: { code: 401 } },
  )
})

t.test('changes a secret with the current one', async (t) => {
  const { call, records } = await open(t)
  const change = (request: object, caller?: Caller) =>
    call(
      'Accounts.ChangeSecret',
      { id: 'jane', old_secret: 'password', new_secret: 'new password', ...request },
      caller,
    )
  await t.rejects(change({}), MEMBERS)
  const invalid = (request: object, message: string) =>
    t.rejects(change(request, JANE), { id: 'auth.Accounts.ChangeSecret', code: 400, message })
  await invalid({ id: '' }, 'ID missing')
  await invalid({ new_secret: '' }, 'New secret should not be blank')
  await invalid({ old_secret: 'guess' }, 'Secret not correct, or no account with this ID')
  await invalid({ old_secret: '' }, 'request.old_secret is required to change your own secret')
  await t.rejects(change({ id: 'joe', old_secret: '' }, JANE), ADMINS)
  await t.rejects(change({ id: 'joe', old_secret: '' }, SERVICE), ADMINS)
  await change({}, JANE)
  t.ok(await call('Auth.Token', { id: 'jane', secret: 'new password' }))
  t.match(records.at(-1), { action: 'account.change-secret', target: 'jane', account: 'mx/jane' })
})

t.test(
  'lets administrators change the secrets of other accounts without the current one',
  async (t) => {
    const { call } = await open(t)
    await call('Accounts.ChangeSecret', { id: 'joe', new_secret: 'new password' }, ADMIN)
    t.ok(await call('Auth.Token', { id: 'joe', secret: 'new password' }))
    await call('Auth.Generate', { id: 'admin', secret: 'password', scopes: ['admin'] }, ADMIN)
    await t.rejects(
      call('Accounts.ChangeSecret', { id: 'admin', new_secret: 'new password' }, ADMIN),
      {
        code: 400,
        message: /^request\.old_secret/,
      },
    )
    await call('Auth.Generate', { id: 'ann', name: 'Ann', scopes: ['admin'] }, ADMIN)
    const ann: Caller = { id: 'ann', scopes: ['admin'] }
    await t.rejects(
      call('Accounts.ChangeSecret', { id: 'Ann', new_secret: 'new password' }, ann),
      { code: 400, message: /^request\.old_secret/ },
      'even if the account is addressed by name',
    )
    await t.rejects(
      call('Accounts.ChangeSecret', { id: 'no', new_secret: 'new password' }, ADMIN),
      NOT_FOUND,
    )
  },
)

t.test('limits guesses of a secret through change requests', async (t) => {
  const { call, records } = await open(t)
  const guess = () =>
    call(
      'Accounts.ChangeSecret',
      { id: 'joe', old_secret: 'guess', new_secret: 'new password' },
      JANE,
      '::1',
    )
  for (let i = 0; i < 5; i++) await t.rejects(guess(), { code: 400 })
  await t.rejects(guess(), { code: 429 })
  const entry = { target: 'joe', account: 'mx/jane' }
  t.match(records.slice(-2), [
    { action: 'login.failed', ...entry },
    { action: 'login.refused', ...entry },
  ])
})
