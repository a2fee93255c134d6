import t from 'tap'
import { belongsTo } from '../../../../core/auth/policy/is-member.ts'
import { createAccount } from '../../../fixtures/auth-source.ts'

t.test('accounts belong to their namespace, operators to every namespace', (t) => {
  const rows: [account: Parameters<typeof createAccount>[0], mx: boolean, acme: boolean][] = [
    [{}, true, false],
    [{ scopes: ['service'] }, true, false],
    [{ scopes: ['admin'] }, true, true],
    [{ type: 'service', scopes: ['service'] }, true, false],
    [{ type: 'service', scopes: ['workload:acme/shop'] }, true, false],
    [{ issuer: 'acme' }, false, true],
    [{ issuer: 'other', type: 'service', scopes: ['admin'] }, false, false],
  ]
  for (const [input, mx, acme] of rows) {
    const account = createAccount(input)
    t.same([belongsTo(account, 'mx'), belongsTo(account, 'acme')], [mx, acme])
  }
  t.end()
})
