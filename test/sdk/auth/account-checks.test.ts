import t from 'tap'
import { createAuthorizer } from '../../../core/auth/authorizer.ts'
import type { GatewayError } from '../../../core/errors.ts'
import {
  createAccountChecks,
  mustBeAdmin,
  mustBeMember,
  mustBeOperator,
  mustBeService,
  mustBeViewer,
} from '../../../sdk/auth/account-checks.ts'
import { createContext } from '../../../sdk/context.ts'
import { MemoryAuthSource } from '../../fixtures/auth-source.ts'

const ID = 'config.Config.Get'

function call(account?: object) {
  if (account === undefined) return createContext()
  const input = { id: 'jane', type: 'user', issuer: 'acme', scopes: [], ...account }
  return createContext({ metadata: { 'mx-account': JSON.stringify(input) } })
}

/** A known account without a scope. */
function toMissing(scope: string, namespace = 'acme') {
  return {
    ...{ id: ID, code: 401 },
    message: new RegExp(
      `^Permission denied: ${ID} requires the scope ${scope} in namespace ${namespace}`,
    ),
    headers: ['www-authenticate', `Bearer error="insufficient_scope", scope="${scope}"`],
  }
}
const NO_ACCOUNT = {
  ...{ id: ID, code: 401, message: 'An account is required' },
  headers: ['www-authenticate', 'Bearer'],
}
const ACCESS_DENIED = { id: ID, code: 403, message: 'Access denied to namespace' }
const SHOP = { type: 'service', scopes: ['workload:acme/shop'] }

t.test('members are the accounts of the namespace and operators', (t) => {
  t.throws(() => mustBeMember(call(), 'acme', ID), NO_ACCOUNT)
  t.equal(mustBeMember(call({}), 'acme', ID).id, 'jane')
  t.ok(mustBeMember(call(SHOP), 'acme', ID))
  t.ok(mustBeMember(call({ issuer: 'mx', scopes: ['admin'] }), 'acme', ID))
  for (const account of [{}, { scopes: ['admin'] }, { scopes: ['service'] }])
    t.throws(() => mustBeMember(call(account), 'other', ID), ACCESS_DENIED)
  for (const account of [{}, { type: 'service', scopes: ['service'] }])
    t.throws(() => mustBeMember(call({ issuer: 'mx', ...account }), 'acme', ID), ACCESS_DENIED)
  t.end()
})

t.test('the challenge of a denied name omits characters that a header cannot contain', (t) => {
  for (const name of ['\uff57', 'a" b', 'a\r\nb']) {
    const error = t.throws(() => mustBeService(call(SHOP), 'acme', ID, name), { code: 401 })
    t.strictSame((error as unknown as GatewayError).headers, [
      'www-authenticate',
      'Bearer error="insufficient_scope"',
    ])
  }
  t.end()
})

t.test('an administrator has the admin scope of the namespace or of mx', (t) => {
  t.throws(() => mustBeAdmin(call(), 'acme', ID), NO_ACCOUNT)
  for (const scopes of [[], ['service'], SHOP.scopes])
    t.throws(() => mustBeAdmin(call({ scopes }), 'acme', ID), toMissing('admin'))
  t.ok(mustBeAdmin(call({ scopes: ['x', 'admin'] }), 'acme', ID))
  t.ok(mustBeAdmin(call({ issuer: 'mx', scopes: ['admin'] }), 'acme', ID))
  t.throws(() => mustBeAdmin(call({ scopes: ['admin'] }), 'mx', ID), ACCESS_DENIED)
  t.end()
})

t.test('a workload acts as the service in its scope only, in its namespace', (t) => {
  t.ok(mustBeService(call(SHOP), 'acme', ID, 'shop'))
  t.ok(mustBeService(call(SHOP), 'acme', ID))
  t.throws(() => mustBeService(call(SHOP), 'acme', ID, 'pay'), {
    ...toMissing('workload:acme/pay'),
    message:
      /requires the scope workload:acme\/pay .* with the scopes workload:acme\/shop: .*mx run --name=pay/,
  })
  const invalidAccount = { issuer: 'mx', scopes: SHOP.scopes }
  t.throws(
    () => mustBeService(call(invalidAccount), 'mx', ID, 'shop'),
    { code: 401 },
    'a scope of another namespace',
  )
  t.throws(() => mustBeService(call(invalidAccount), 'acme', ID, 'shop'), ACCESS_DENIED)
  for (const scopes of [['service'], ['admin'], [...SHOP.scopes, 'service']])
    t.ok(mustBeService(call({ scopes }), 'acme', ID, 'pay'))
  t.throws(() => mustBeService(call({}), 'acme', ID, 'pay'), toMissing('service'))
  t.throws(() => mustBeViewer(call(SHOP), 'acme', ID), toMissing('admin'))
  for (const scopes of [[], ['service']]) t.ok(mustBeViewer(call({ scopes }), 'acme', ID))
  t.end()
})

t.test('an operator has the admin scope of mx', (t) => {
  t.ok(mustBeOperator(call({ issuer: 'mx', scopes: ['admin'] }), ID))
  const service = { issuer: 'mx', scopes: ['service'] }
  t.throws(() => mustBeOperator(call(service), ID), toMissing('admin', 'mx'))
  t.throws(() => mustBeOperator(call({ scopes: ['admin'] }), ID), ACCESS_DENIED)
  t.throws(() => mustBeOperator(call(), ID), NO_ACCOUNT)
  createAccountChecks(undefined).mustBeOperator(call(), ID)
  t.end()
})

t.test('account checks apply with an authorizer, and are skipped without one', (t) => {
  const authorizer = createAuthorizer(new MemoryAuthSource())
  t.teardown(authorizer.close)
  const ctx = createContext()
  for (const check of ['mustBeMember', 'mustBeViewer', 'mustBeService', 'mustBeAdmin'] as const) {
    t.throws(() => createAccountChecks(authorizer)[check](ctx, 'mx', 'store.Store.Read'), {
      id: 'store.Store.Read',
      code: 401,
      message: 'An account is required',
    })
    createAccountChecks(undefined)[check](ctx, 'mx', 'store.Store.Read')
  }
  t.end()
})
