import t from 'tap'
import { isAlwaysAllowed, isLogin } from '../../../../core/auth/policy/repair-calls.ts'
import { createAccount } from '../../../fixtures/auth-source.ts'

const OPERATOR = createAccount({ scopes: ['admin'] })
const toResource = (endpoint: string, name = 'auth', type = 'service') => ({ type, name, endpoint })

t.test('an operator can always call Auth.Token, Rules and Accounts of auth', (t) => {
  for (const endpoint of ['Auth.Token', 'Rules.Delete', 'rules.create', 'Accounts.List'])
    t.ok(isAlwaysAllowed(OPERATOR, toResource(endpoint)), endpoint)
  for (const endpoint of ['Auth.Generate', 'Auth.Tokens', 'RulesX.Delete', '/rules/delete'])
    t.notOk(isAlwaysAllowed(OPERATOR, toResource(endpoint)), endpoint)
  t.notOk(isAlwaysAllowed(OPERATOR, toResource('Rules.Delete', 'rules')))
  t.notOk(isAlwaysAllowed(OPERATOR, toResource('Rules.Delete', 'auth', 'topic')))
  const others = [{}, { scopes: ['service'] }, { issuer: 'acme', scopes: ['admin'] }]
  for (const other of others)
    t.notOk(isAlwaysAllowed(createAccount(other), toResource('Rules.Delete')))
  t.notOk(isAlwaysAllowed(undefined, toResource('Rules.Delete')))
  t.end()
})

t.test('isLogin is true for Auth.Token of auth, in any letter case', (t) => {
  t.ok(isLogin(toResource('Auth.Token')))
  t.ok(isLogin(toResource('auth.TOKEN')))
  t.notOk(isLogin(toResource('Auth.Inspect')))
  t.notOk(isLogin(toResource('Auth.Token', 'shop')))
  t.end()
})
