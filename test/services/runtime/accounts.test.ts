import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { createSecretHasher } from '../../../core/auth/token/secret-hash.ts'
import { createStore } from '../../../domain/store/store.ts'
import { createAccounts } from '../../../services/auth/accounts/accounts.ts'
import { createServiceAccounts, toAccountId } from '../../../services/runtime/accounts.ts'

const KEY = { namespace: 'acme', name: 'helloworld', version: 'feature/x' }
const ID = 'helloworld@feature:x'

function open(t: Test) {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  const accounts = createAccounts({ store, hasher: createSecretHasher('auth', 4), nowMs: Date.now })
  return { accounts, services: createServiceAccounts(accounts) }
}

t.test('gives each service an account with the scope of its workload', async (t) => {
  const { accounts, services } = open(t)
  const { id, secret } = await services.open(KEY)
  t.equal(id, ID)
  t.match(await accounts.logIn('acme', id, secret, 'x'), {
    ...{ id, type: 'service', scopes: ['workload:acme/helloworld'], issuer: 'acme' },
  })
  const next = await services.open(KEY)
  t.not(next.secret, secret, 'a new secret each time')
  await t.rejects(accounts.logIn('acme', id, secret, 'x'), { code: 400 })
  await services.remove(KEY)
  t.equal(await accounts.find('acme', id), undefined)
  await services.remove(KEY)
})

t.test('migrates accounts of earlier versions to the workload scope once', async (t) => {
  const { accounts, services } = open(t)
  await services.migrate(KEY)
  t.equal(await accounts.find('acme', ID), undefined, 'no account is created')
  const old = { id: ID, type: 'service', scopes: ['service'], secret: 'a secret' } as const
  await accounts.create('acme', { ...old, metadata: { runtime: ID } }, 'x')
  await services.migrate(KEY)
  const migrated = await accounts.logIn('acme', ID, 'a secret', 'x')
  t.same(migrated.scopes, ['workload:acme/helloworld'])
  t.ok(migrated.since > Date.now() - 1000, 'its tokens are revoked')
  await services.migrate(KEY)
  t.same(await accounts.find('acme', ID), migrated)
  await accounts.delete('acme', ID, 'x')
  await accounts.create('acme', old, 'x')
  await services.migrate(KEY)
  t.match(await accounts.find('acme', ID), { scopes: ['service'] }, 'an account of another owner')
})

t.test('does not modify an account that the runtime did not create', async (t) => {
  const { accounts, services } = open(t)
  await accounts.create('acme', { id: ID, secret: 'mine alone' }, 'x')
  await t.rejects(services.open(KEY), {
    code: 409,
    message: /helloworld@feature:x.*runtime did not create/,
  })
  await services.remove(KEY)
  t.ok(await accounts.find('acme', ID))
})

t.test('assigns different account ids to different objects', async (t) => {
  const ids = [
    ['a-b', 'c'],
    ['a', 'b-c'],
    ['a', 'b/c'],
    ['a', 'b.c'],
  ].map(([name, version]) => toAccountId({ name: name!, version: version! }))
  t.equal(new Set(ids).size, ids.length)
})
