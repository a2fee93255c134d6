import t from 'tap'
import { isForeign } from '../../../../core/auth/policy/cross-namespace.ts'
import { createAccount } from '../../../fixtures/auth-source.ts'

const JOE = createAccount({ id: 'joe', issuer: 'acme', scopes: ['admin'] })
const JANE = createAccount({ id: 'jane' })

function toTarget(namespace: string, name = 'greeter', domain = 'mx') {
  return { namespace, domain, resource: { type: 'service', name, endpoint: 'A.B' } }
}

t.test('an account is foreign in other namespaces than its own; none is mx', async (t) => {
  t.equal(isForeign(JOE, toTarget('')), true)
  t.equal(isForeign(JOE, toTarget('mx')), true)
  t.equal(isForeign(JOE, toTarget('other')), true)
  t.equal(isForeign(JOE, toTarget('acme')), false)
  t.equal(isForeign(JOE, toTarget('acme', 'greeter', 'acme')), false)
  t.equal(isForeign(JANE, toTarget('')), false)
  t.equal(isForeign(JANE, toTarget('acme')), true)
  t.equal(isForeign(undefined, toTarget('acme')), false)
})

t.test('operators are at home everywhere, services and workloads of mx are not', async (t) => {
  t.equal(isForeign(createAccount({ scopes: ['admin'] }), toTarget('acme')), false)
  for (const scope of ['service', 'workload:mx/shop'])
    t.equal(isForeign(createAccount({ type: 'service', scopes: [scope] }), toTarget('acme')), true)
})

t.test('services of the platform judge accounts themselves, and are told of all', async (t) => {
  t.equal(isForeign(JOE, toTarget('', 'auth')), false)
  t.equal(isForeign(JOE, toTarget('other', 'auth', 'other')), true, 'of that name elsewhere')
})
