import t from 'tap'
import { createGate } from '../../core/auth/gate.ts'
import { createAccountChecks } from '../../sdk/account-checks.ts'
import { createContext } from '../../sdk/context.ts'
import { MemoryAuthSource } from '../fixtures/auth-source.ts'

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
