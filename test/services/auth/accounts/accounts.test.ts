import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import { createSecretHasher } from '../../../../core/auth/token/secret-hash.ts'
import { encodeRecord } from '../../../../domain/store/json-record.ts'
import { createStore } from '../../../../domain/store/store.ts'
import { createAccounts } from '../../../../services/auth/accounts/accounts.ts'
import { AUTH_TABLE, toAccountKey } from '../../../../services/auth/records.ts'

const ID = 'auth.Auth.Generate'

function open(t: Test) {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  const hasher = createSecretHasher('auth', 2)
  return createAccounts({ store, hasher, nowMs: () => 1_800_000_000_999 })
}

t.test(
  'creates an account with a random secret, its id as name and type user by default',
  async (t) => {
    const accounts = open(t)
    const { account, secret } = await accounts.create('mx', { id: 'jane' }, ID)
    t.match(secret, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
    const { hash, ...details } = account
    t.same(details, {
      id: 'jane',
      name: 'jane',
      type: 'user',
      issuer: 'mx',
      scopes: [],
      metadata: {},
      created: 1_800_000_000,
      since: 1_800_000_000_999,
    })
    t.notMatch(hash, secret)
    t.same(await accounts.find('mx', 'jane'), account)
    t.same(await accounts.logIn('mx', 'jane', secret, ID), account)
  },
)

t.test('finds an account by name within its namespace', async (t) => {
  const accounts = open(t)
  const { secret } = await accounts.create('mx', { id: 'j1', name: 'jane@example.com' }, ID)
  t.equal((await accounts.logIn('mx', 'jane@example.com', secret, ID)).id, 'j1')
  t.equal(await accounts.find('acme', 'j1'), undefined)
  await accounts.create('acme', { id: 'j1', name: 'jane@example.com' }, ID)
  t.equal((await accounts.find('acme', 'j1'))?.issuer, 'acme')
  t.same(
    (await accounts.list('mx')).accounts.map(({ issuer }) => issuer),
    ['mx'],
  )
  t.equal(await accounts.find('mx', 'mx/j1'), undefined)
  t.equal(await accounts.find('mx', '../acme/j1'), undefined)
})

t.test('rejects duplicate ids and names', async (t) => {
  const accounts = open(t)
  const conflict = { name: 'ServiceError', id: ID, code: 400 }
  await accounts.create('mx', { id: 'jane', name: 'Jane' }, ID)
  await t.rejects(accounts.create('mx', { id: 'jane' }, ID), {
    ...conflict,
    message: 'Account with this ID already exists',
  })
  await t.rejects(accounts.create('mx', { id: 'other', name: 'Jane' }, ID), {
    ...conflict,
    message: 'Account with this Name already exists',
  })
  const created = ['a', 'b', 'c'].map((id) => accounts.create('mx', { id, name: 'same' }, ID))
  const statuses = (await Promise.allSettled(created)).map(({ status }) => status)
  t.same(
    statuses.sort(),
    ['fulfilled', 'rejected', 'rejected'],
    'one of several concurrent requests succeeds',
  )
})

t.test('rejects wrong secrets and unknown accounts with the same error', async (t) => {
  const accounts = open(t)
  await accounts.create('mx', { id: 'jane', secret: 'the right one' }, ID)
  const rejected = { code: 400, message: 'Secret not correct, or no account with this ID' }
  await t.rejects(accounts.logIn('mx', 'jane', 'wrong', ID), rejected)
  await t.rejects(accounts.logIn('mx', 'john', 'the right one', ID), rejected)
  await t.rejects(accounts.logIn('mx', 'no/such', 'the right one', ID), rejected)
  await t.rejects(accounts.logIn('acme', 'jane', 'the right one', ID), rejected)
})

t.test('changes a secret with the current one and revokes tokens', async (t) => {
  const accounts = open(t)
  await accounts.create('mx', { id: 'jane', secret: 'old secret' }, ID)
  const change = (old: string, next: string) =>
    accounts.changeSecret('mx', 'jane', { old, new: next }, ID)
  await t.rejects(change('wrong', 'new secret'), { code: 400, message: /Secret not correct/ })
  await t.rejects(change('old secret', ''), { message: 'New secret should not be blank' })
  await change('old secret', 'new secret')
  await t.rejects(accounts.logIn('mx', 'jane', 'old secret', ID), { code: 400 })
  await t.resolves(accounts.logIn('mx', 'jane', 'new secret', ID))
  const results = await Promise.allSettled([
    change('new secret', 'a third one'),
    change('new secret', 'a fourth one'),
  ])
  t.same(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
})

t.test('deletes an account and frees its name', async (t) => {
  const accounts = open(t)
  await accounts.create('mx', { id: 'jane', name: 'Jane', secret: 'her secret' }, ID)
  t.equal(await accounts.delete('mx', 'jane', ID), true)
  t.equal(await accounts.delete('mx', 'jane', ID), false)
  await t.rejects(accounts.logIn('mx', 'Jane', 'her secret', ID), { code: 400 })
  await t.resolves(accounts.create('mx', { id: 'jane2', name: 'Jane' }, ID))
})

t.test('reports the invalid part of an account', async (t) => {
  const accounts = open(t)
  const invalid = (input: Parameters<typeof accounts.create>[1], message: string | RegExp) =>
    t.rejects(accounts.create('mx', input, ID), { id: ID, code: 400, message })
  await invalid({ id: '' }, 'ID required')
  await invalid({ id: 'a b' }, /^request.id must be/)
  await invalid({ id: 'a/b' }, /^request.id must be/)
  await invalid({ id: 'a\0' }, /^request.id must be/)
  await invalid({ id: 'a'.repeat(129) }, /^request.id must be/)
  await invalid({ id: 'a', name: '' }, 'name required')
  await invalid({ id: 'a', secret: '' }, /^request.secret must be/)
  await invalid({ id: 'a', secret: 's'.repeat(1025) }, /^request.secret must be/)
  for (const id of [
    '*',
    '+',
    '<public>',
    '__proto__',
    '-a',
    'аdmin',
    'ａdmin',
    'a\u200b',
    'a"b',
    "a'b",
  ])
    await invalid({ id }, /^request\.id must be at most 128 characters: a letter or digit, then/)
  for (const id of ['Admin', 'ADMIN'])
    await invalid(
      { id },
      `request.id: ${id} differs from admin only in letter case; choose another id`,
    )
  t.same((await accounts.list('mx')).accounts, [], 'no account is stored')
  for (const id of ['a', 'jane+ci@example.com', 'shop@v1.2:x', 'a_b-c~d=e', 'admin'])
    await t.resolves(accounts.create('mx', { id }, ID), id)
})

t.test('requires new secrets of at least 8 characters', async (t) => {
  const accounts = open(t)
  const tooShort = { code: 400, message: 'request.secret must be 8 to 1024 characters' }
  await t.rejects(accounts.create('mx', { id: 'jane', secret: '1234567' }, ID), tooShort)
  await accounts.create('mx', { id: 'jane', secret: '12345678' }, ID)
  const change = { old: '12345678', new: '7654321' }
  await t.rejects(accounts.changeSecret('mx', 'jane', change, ID), {
    ...{ code: 400, message: 'request.new_secret must be 8 to 1024 characters' },
  })
  await t.resolves(accounts.logIn('mx', 'jane', '12345678', ID))
})

t.test('accepts logins of accounts that violate newer rules and deletes them', async (t) => {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  const hasher = createSecretHasher('auth', 2)
  const accounts = createAccounts({ store, hasher, nowMs: () => 1_800_000_000_999 })
  const { account } = await accounts.create('mx', { id: 'jane' }, ID)
  for (const id of ['*', 'аdmin']) {
    const record = { ...account, id, name: id, hash: await hasher.hash('x') }
    await store.commit([
      { table: AUTH_TABLE, key: toAccountKey('mx', id), value: encodeRecord(record) },
    ])
    t.equal((await accounts.logIn('mx', id, 'x', ID)).id, id)
    t.equal(await accounts.delete('mx', id, ID), true)
  }
})
