import t from 'tap'
import { createGate } from '../../core/auth/gate.ts'
import {
  createAccountChecks,
  mustBeAdmin,
  mustBeMember,
  mustBeOperator,
} from '../../sdk/account-checks.ts'
import { createContext } from '../../sdk/context.ts'
import { MemoryAuthSource } from '../fixtures/auth-source.ts'

const ID = 'config.Config.Get'

function call(account?: object) {
  if (account === undefined) return createContext()
  const given = { id: 'jane', type: 'user', issuer: 'acme', scopes: [], ...account }
  return createContext({ metadata: { 'mx-account': JSON.stringify(given) } })
}

t.test('a member is an account of the namespace, or of the platform for all', (t) => {
  t.throws(() => mustBeMember(call(), 'acme', ID), {
    ...{ id: ID, code: 401, message: 'An account is required' },
  })
  t.equal(mustBeMember(call({}), 'acme', ID).id, 'jane')
  const denied = { id: ID, code: 403, message: 'Access denied to namespace' }
  t.throws(() => mustBeMember(call({}), 'mx', ID), denied)
  t.throws(() => mustBeMember(call({ scopes: ['admin'] }), 'other', ID), denied)
  t.throws(() => mustBeMember(call({ type: 'service' }), 'other', ID), denied)
  t.throws(() => mustBeMember(call({ issuer: 'mx' }), 'acme', ID), denied)
  t.ok(mustBeMember(call({ issuer: 'mx', type: 'service' }), 'acme', ID))
  t.ok(mustBeMember(call({ issuer: 'mx', scopes: ['admin'] }), 'acme', ID))
  t.end()
})

t.test('an administrator is a member with the scope admin or service', (t) => {
  t.throws(() => mustBeAdmin(call(), 'acme', ID), { code: 401, message: 'An account is required' })
  const denied = { id: ID, code: 401, message: 'Unauthorized' }
  t.throws(() => mustBeAdmin(call({}), 'acme', ID), denied)
  t.throws(() => mustBeAdmin(call({ issuer: 'mx', type: 'service' }), 'acme', ID), denied)
  for (const scope of ['admin', 'service'])
    t.equal(mustBeAdmin(call({ scopes: ['x', scope] }), 'acme', ID).id, 'jane')
  t.throws(() => mustBeAdmin(call({ scopes: ['admin'] }), 'mx', ID), { code: 403 })
  t.end()
})

t.test('who runs the platform is an account of it with the scope admin', (t) => {
  mustBeOperator(call({ issuer: 'mx', scopes: ['admin'] }), ID)
  const denied = { id: ID, code: 401, message: /takes the scope admin/ }
  t.throws(() => mustBeOperator(call({ issuer: 'mx', scopes: ['service'] }), ID), denied)
  t.throws(() => mustBeOperator(call({ scopes: ['admin'] }), ID), { code: 403 })
  t.throws(() => mustBeOperator(call(), ID), { message: 'An account is required' })
  createAccountChecks(undefined).mustBeOperator(call(), ID)
  t.end()
})

t.test('a service with a gate asks who calls, one without does not', (t) => {
  const gate = createGate(new MemoryAuthSource())
  t.teardown(gate.close)
  const ctx = createContext()
  for (const check of ['mustBeMember', 'mustBeAdmin'] as const) {
    t.throws(() => createAccountChecks(gate)[check](ctx, 'mx', 'store.Store.Read'), {
      id: 'store.Store.Read',
      code: 401,
      message: 'An account is required',
    })
    createAccountChecks(undefined)[check](ctx, 'mx', 'store.Store.Read')
  }
  t.end()
})
