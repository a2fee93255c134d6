import t from 'tap'
import { createContext } from '../../../sdk/context.ts'
import { toBrokerNamespace, toEffective } from '../../../services/broker/namespaces.ts'

const toContext = (namespace: string) => createContext({ metadata: { 'mx-namespace': namespace } })

t.test('the namespace defaults to mx, and an invalid one is rejected with 400', async (t) => {
  t.equal(toBrokerNamespace(createContext(), 'id'), 'mx')
  t.equal(toBrokerNamespace(toContext('go.mx.api'), 'id'), 'go.mx.api')
  for (const invalid of ['a b', '.', 'a..b', '*', '>', 'x'.repeat(101)])
    t.throws(() => toBrokerNamespace(toContext(invalid), 'id'), {
      code: 400,
      id: 'id',
      message: /^Mx-Namespace must be/,
    })
})

t.test(
  'a topic is prefixed with its namespace, and an invalid topic is rejected with 400',
  async (t) => {
    t.equal(toEffective('acme', 'orders.eu', 'request.topic', 'id'), 'acme.orders.eu')
    t.equal(toEffective('acme.eu', 'orders', 'request.topic', 'id'), 'acme=eu.orders')
    for (const invalid of ['', 'a b', '*', 'a.>', '$SYS', '_INBOX.a', '../b', 'x'.repeat(153)])
      t.throws(() => toEffective('acme', invalid, 'request.topic', 'id'), {
        code: 400,
        id: 'id',
        message: /^request\.topic must be at most 152 letters/,
      })
  },
)
