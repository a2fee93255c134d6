import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import type { Rule } from '../../../../core/contracts/auth.ts'
import { createStore } from '../../../../domain/store/store.ts'
import { createRules } from '../../../../services/auth/rules/rules.ts'

const ID = 'auth.Rules.Create'
const LOGIN: Rule = {
  id: 'login',
  scope: '',
  access: 'GRANTED',
  resource: { type: 'service', name: 'auth', endpoint: '*' },
  priority: 0,
}

function open(t: Test) {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  return createRules(store)
}

t.test('applies the default rule until it is deleted', async (t) => {
  const rules = open(t)
  t.same(await rules.list('mx'), [
    {
      id: 'default',
      scope: '',
      access: 'GRANTED',
      resource: { type: '*', name: '*', endpoint: '*' },
      priority: 0,
    },
  ])
  await rules.create('mx', LOGIN, {}, ID)
  await rules.delete('mx', 'default', {}, ID)
  t.same(await rules.list('mx'), [LOGIN])
  await rules.delete('mx', 'login', { force: true }, ID)
  t.same(await rules.list('mx'), [], 'the default rule does not return')
})

t.test('writes nothing for reads and rejected changes', async (t) => {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  const rules = createRules(store)
  t.equal((await rules.list('stranger')).length, 1)
  await t.rejects(rules.delete('stranger', 'other', {}, ID), { code: 400 })
  t.same(await store.listTables(), [])
  await rules.delete('stranger', 'default', { force: true }, ID)
  t.same(await rules.list('stranger'), [], 'the default rule of an unused namespace can be deleted')
})

t.test('rejects duplicate rules within a namespace', async (t) => {
  const rules = open(t)
  await rules.create('mx', LOGIN, {}, ID)
  await t.rejects(rules.create('mx', LOGIN, {}, ID), {
    id: ID,
    code: 400,
    message: 'A rule with this ID already exists',
  })
  await t.rejects(rules.delete('mx', 'other', {}, ID), { code: 400, message: 'Rule not found' })
  await rules.create('acme', LOGIN, {}, ID)
  await rules.delete('acme', 'default', {}, ID)
  t.same(
    (await rules.list('mx')).map(({ id }) => id),
    ['default', 'login'],
  )
})

t.test('rejects a change that locks out all accounts', async (t) => {
  const rules = open(t)
  const last = { id: ID, code: 409, message: /no rule allows logins after this change.*force/ }
  await t.rejects(rules.delete('mx', 'default', {}, ID), last)
  const denial: Rule = { ...LOGIN, id: 'no', access: 'DENIED', priority: 1 }
  await t.rejects(rules.create('mx', denial, {}, ID), last)
  await rules.create('mx', LOGIN, {}, ID)
  await rules.create('mx', { ...LOGIN, id: 'login2' }, {}, ID)
  await rules.delete('mx', 'default', {}, ID)
  const deleted = ['login', 'login2'].map((id) => rules.delete('mx', id, {}, ID))
  const statuses = (await Promise.allSettled(deleted)).map(({ status }) => status)
  t.same(
    statuses.sort(),
    ['fulfilled', 'rejected'],
    'the second of two concurrent changes sees the first one',
  )
  await rules.create('mx', denial, { force: true }, ID)
  await rules.delete('mx', 'no', {}, ID)
})

t.test('rejects a change that the caller could not undo', async (t) => {
  const rules = open(t)
  const caller = { issuer: 'mx', scopes: ['staff'] }
  const token = { ...LOGIN, resource: { ...LOGIN.resource, endpoint: 'Auth.Token' } }
  await rules.create('mx', token, { caller }, ID)
  const last = {
    id: ID,
    code: 409,
    message: /^this change would prevent you from changing rules.*force/,
  }
  await t.rejects(rules.delete('mx', 'default', { caller }, ID), last)
  const denial: Rule = {
    ...{ id: 'no', scope: '*', access: 'DENIED', priority: 1 },
    resource: { type: 'service', name: '*', endpoint: 'Rules.Delete' },
  }
  await t.rejects(rules.create('mx', denial, { caller }, ID), last)
  await rules.create('mx', denial, { caller: { ...caller, issuer: 'acme' } }, ID)
  await rules.delete('mx', 'no', { caller }, ID)
  const admins: Rule = { ...LOGIN, id: 'admins', scope: 'staff' }
  await rules.create('mx', admins, { caller }, ID)
  await rules.delete('mx', 'default', { caller }, ID)
  await t.rejects(rules.delete('mx', 'admins', { caller }, ID), last)
  const operator = { issuer: 'mx', scopes: ['admin'] }
  await rules.create('mx', denial, { caller: operator }, ID)
  await rules.delete('mx', 'admins', { caller, force: true }, ID)
})

t.test('applies concurrent changes without losing any of them', async (t) => {
  const rules = open(t)
  const ids = Array.from({ length: 20 }, (_, i) => `rule${i}`)
  await Promise.all(ids.map((id) => rules.create('mx', { ...LOGIN, id }, {}, ID)))
  t.same(
    (await rules.list('mx')).map(({ id }) => id),
    ['default', ...ids].sort(),
  )
})

t.test('lists more rules than a page', async (t) => {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  const rules = createRules(store)
  await rules.create('mx', LOGIN, {}, ID)
  for (let i = 0; i < 1500; i++) {
    const rule = { format: 1, ...LOGIN, id: `r${i}` }
    const value = Buffer.from(JSON.stringify(rule))
    await store.commit([
      { table: { database: 'mx', table: 'auth' }, key: `rules/mx/${rule.id}`, value },
    ])
  }
  t.equal((await rules.list('mx')).length, 1502)
})
