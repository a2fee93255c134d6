import t from 'tap'
import { createContext } from '../../../sdk/context.ts'
import { toNamespace } from '../../../services/events/namespace.ts'

t.test('the namespace is the one the caller chose, else mx', (t) => {
  t.equal(toNamespace(createContext(), 'id'), 'mx')
  t.equal(toNamespace(createContext({ metadata: { 'mx-namespace': 'foo.bar' } }), 'id'), 'foo.bar')
  t.throws(() => toNamespace(createContext({ metadata: { 'mx-namespace': '../x' } }), 'id'), {
    id: 'id',
    code: 400,
    message: /^Mx-Namespace must be letters, .*, got "..\/x"$/,
  })
  t.end()
})
