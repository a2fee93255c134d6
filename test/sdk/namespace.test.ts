import t from 'tap'
import { createContext } from '../../sdk/context.ts'
import { toNamespace } from '../../sdk/namespace.ts'

const toContext = (namespace: string) => createContext({ metadata: { 'mx-namespace': namespace } })

t.test('the namespace comes from the context, or is mx by default', async (t) => {
  t.equal(toNamespace(createContext(), 'id'), 'mx')
  t.equal(toNamespace(toContext('foo.bar'), 'id'), 'foo.bar')
  t.equal(toNamespace(toContext('x'.repeat(253)), 'id').length, 253)
})

t.test('rejects a namespace that is invalid or too long with 400', async (t) => {
  for (const invalid of ['MX', 'a b', '.', 'a..b', '../x', '*', '>', 'x'.repeat(254)])
    t.throws(() => toNamespace(toContext(invalid), 'id'), {
      id: 'id',
      code: 400,
      message: /^Mx-Namespace must be letters, .*; at most 253 characters, got "/,
    })
  t.throws(() => toNamespace(toContext('x'.repeat(101)), 'id', 100), {
    message: /; at most 100 characters, got/,
  })
})
