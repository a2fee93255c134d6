import t from 'tap'
import { auditAccounts } from '../../../../services/auth/accounts/audited-accounts.ts'
import { openAuthParts } from '../../../fixtures/auth-parts.ts'

t.test('audits successful changes by other components of the server', async (t) => {
  const parts = await openAuthParts(t)
  const events: string[] = []
  const accounts = auditAccounts(parts.accounts, (ctx, action, { namespace, target }) => {
    events.push(`${ctx === undefined ? 'server' : 'caller'} ${action} ${namespace}/${target}`)
  })
  const created = await accounts.create('acme', { id: 'shop', secret: 'correct horse' }, 'x')
  t.equal(created.secret, 'correct horse')
  await t.rejects(accounts.create('acme', { id: 'shop' }, 'x'), { code: 400 })
  await accounts.changeSecret('acme', 'shop', { old: undefined, new: 'battery staple' }, 'x')
  t.equal((await accounts.logIn('acme', 'shop', 'battery staple', 'x')).id, 'shop')
  await accounts.revoke('acme', 'shop', 'x')
  t.equal(await accounts.delete('acme', 'shop', 'x'), true)
  t.equal(await accounts.delete('acme', 'shop', 'x'), false)
  t.same(events, [
    'server account.create acme/shop',
    'server account.change-secret acme/shop',
    'server account.revoke acme/shop',
    'server account.delete acme/shop',
  ])
})
