import t from 'tap'
import { isCrossNamespace } from '../../../../core/auth/policy/cross-namespace.ts'
import { createAccount } from '../../../fixtures/auth-source.ts'

const JOE = createAccount({ id: 'joe', issuer: 'acme', scopes: ['admin'] })
const JANE = createAccount({ id: 'jane' })

function toTarget(namespace: string, name = 'greeter', domain = 'mx') {
  return { namespace, domain, resource: { type: 'service', name, endpoint: 'A.B' } }
}

t.test(
  'an account is cross-namespace in every namespace except its own; an empty namespace means mx',
  async (t) => {
    t.equal(isCrossNamespace(JOE, toTarget('')), true)
    t.equal(isCrossNamespace(JOE, toTarget('mx')), true)
    t.equal(isCrossNamespace(JOE, toTarget('other')), true)
    t.equal(isCrossNamespace(JOE, toTarget('acme')), false)
    t.equal(isCrossNamespace(JOE, toTarget('acme', 'greeter', 'acme')), false)
    t.equal(isCrossNamespace(JANE, toTarget('')), false)
    t.equal(isCrossNamespace(JANE, toTarget('acme')), true)
    t.equal(isCrossNamespace(undefined, toTarget('acme')), false)
  },
)

t.test(
  'accounts of mx with the admin scope are never cross-namespace, services and workloads are',
  async (t) => {
    t.equal(isCrossNamespace(createAccount({ scopes: ['admin'] }), toTarget('acme')), false)
    for (const scope of ['service', 'workload:mx/shop'])
      t.equal(
        isCrossNamespace(createAccount({ type: 'service', scopes: [scope] }), toTarget('acme')),
        true,
      )
  },
)

t.test('calls to built-in services of mx are never cross-namespace', async (t) => {
  t.equal(isCrossNamespace(JOE, toTarget('', 'auth')), false)
  t.equal(
    isCrossNamespace(JOE, toTarget('other', 'auth', 'other')),
    true,
    'a service of the same name in another namespace',
  )
})
