import t from 'tap'
import type { Rule } from '../../../core/contracts/auth.ts'
import { resetAccess } from '../../../services/auth/reset-access.ts'
import { openAuthParts } from '../../fixtures/auth-parts.ts'

const ID = 'auth'
const PASSWORD = 'a new password'
const DENIED: Rule = {
  ...{ id: 'ban', scope: '', access: 'DENIED', priority: 1 },
  resource: { type: '*', name: '*', endpoint: '*' },
}

t.test('deletes exactly the rules that prevent operators from calling auth', async (t) => {
  const { accounts, rules } = await openAuthParts(t)
  const at = (name: string, type = 'service') => ({ type, name, endpoint: '*' })
  const unaffected: Rule[] = [
    { ...DENIED, id: 'billing', resource: at('billing') },
    { ...DENIED, id: 'staff', scope: 'staff' },
    { ...DENIED, id: 'topic', resource: at('*', 'topic') },
    { ...DENIED, id: 'granted', access: 'GRANTED' },
  ]
  const blocking: Rule[] = [
    DENIED,
    { ...DENIED, id: 'admins', scope: 'admin', resource: at('auth') },
    { ...DENIED, id: 'members', scope: '*', resource: at('AUTH') },
    { ...DENIED, id: 'plus', scope: '+' },
  ]
  for (const rule of [...unaffected, ...blocking])
    await rules.create('mx', rule, { force: true }, ID)
  await rules.create('acme', DENIED, { force: true }, ID)
  await rules.delete('mx', 'default', { force: true }, ID)
  const deleted = await resetAccess({ accounts, rules }, PASSWORD)
  t.same([...deleted].sort(), blocking.map(({ id }) => id).sort())
  const ids = (await rules.list('mx')).map(({ id }) => id)
  t.same(ids, ['default', ...unaffected.map(({ id }) => id)].sort())
  t.equal((await rules.list('acme')).length, 2)
})

t.test('resets password and scope of admin in any state', async (t) => {
  const { accounts, rules } = await openAuthParts(t)
  const reset = async () => {
    await resetAccess({ accounts, rules }, PASSWORD)
    return accounts.logIn('mx', 'admin', PASSWORD, ID)
  }
  t.match(await reset(), { id: 'admin', scopes: ['admin'] }, 'creates a missing account')
  await accounts.changeSecret('mx', 'admin', { old: undefined, new: 'another one' }, ID)
  await accounts.setScopes('mx', 'admin', ['reader'], ID)
  t.match(await reset(), { id: 'admin', scopes: ['reader', 'admin'] })
  await accounts.delete('mx', 'admin', ID)
  await accounts.create('mx', { id: 'jane', name: 'admin' }, ID)
  await resetAccess({ accounts, rules }, PASSWORD)
  t.match(await accounts.logIn('mx', 'admin', PASSWORD, ID), { id: 'admin', scopes: ['admin'] })
  t.match(await rules.list('mx'), [{ id: 'default', access: 'GRANTED', scope: '' }])
})
