import t from 'tap'
import { createContext } from '../../../sdk/context.ts'
import { toEffective, toNamespace } from '../../../services/broker/namespaces.ts'

const within = (namespace: string) => createContext({ metadata: { 'mx-namespace': namespace } })

t.test('the namespace is that of the call, else mx', async (t) => {
  t.equal(toNamespace(createContext(), 'id'), 'mx')
  t.equal(toNamespace(within('go.mx.api'), 'id'), 'go.mx.api')
  for (const wrong of ['a b', '.', 'a..b', '*', '>', 'x'.repeat(101)])
    t.throws(() => toNamespace(within(wrong), 'id'), {
      code: 400,
      id: 'id',
      message: /^Mx-Namespace must be/,
    })
})

t.test('a name is behind that of its namespace', async (t) => {
  t.equal(toEffective('acme', 'orders.eu', 'request.topic', 'id'), 'acme.orders.eu')
  for (const wrong of ['', 'a b', '*', 'a.>', '$SYS', '_INBOX.a', '../b', 'x'.repeat(153)])
    t.throws(() => toEffective('acme', wrong, 'request.topic', 'id'), {
      code: 400,
      id: 'id',
      message: /^request\.topic must be at most 152 letters/,
    })
})
