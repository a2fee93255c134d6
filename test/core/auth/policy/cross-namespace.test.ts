import t from 'tap'
import { isCrossNamespace } from '../../../../core/auth/policy/cross-namespace.ts'
import { createAccount } from '../../../fixtures/auth-source.ts'

const JOE = createAccount({ id: 'joe', issuer: 'acme', scopes: ['admin'] })
const JANE = createAccount({ id: 'jane' })

function toTarget(namespace: string, name = 'greeter', domain = 'mx') {
  return { namespace, domain, resource: { type: 'service', name, endpoint: 'A.B' } }
}

t.test('an account is foreign in other namespaces than its own; none is mx', async (t) => {
  t.equal(isCrossNamespace(JOE, toTarget('')), true)
  t.equal(isCrossNamespace(JOE, toTarget('mx')), true)
  t.equal(isCrossNamespace(JOE, toTarget('other')), true)
  t.equal(isCrossNamespace(JOE, toTarget('acme')), false)
  t.equal(isCrossNamespace(JOE, toTarget('acme', 'greeter', 'acme')), false)
  t.equal(isCrossNamespace(JANE, toTarget('')), false)
  t.equal(isCrossNamespace(JANE, toTarget('acme')), true)
  t.equal(isCrossNamespace(undefined, toTarget('acme')), false)
})

t.test('operators are at home everywhere, services and workloads of mx are not', async (t) => {
  t.equal(isCrossNamespace(createAccount({ scopes: ['admin'] }), toTarget('acme')), false)
  for (const scope of ['service', 'workload:mx/shop'])
    t.equal(
      isCrossNamespace(createAccount({ type: 'service', scopes: [scope] }), toTarget('acme')),
      true,
    )
})

t.test('services of the platform judge accounts themselves, and are told of all', async (t) => {
  t.equal(isCrossNamespace(JOE, toTarget('', 'auth')), false)
  t.equal(isCrossNamespace(JOE, toTarget('other', 'auth', 'other')), true, 'of that name elsewhere')
})
