import t from 'tap'
import { isNamespaceName } from '../../../core/registry/namespace-name.ts'

t.test('a namespace has a service name, and mx is valid in lower case only', async (t) => {
  for (const name of ['mx', 'acme', 'Acme', 'mx.v1', 'MXA']) t.ok(isNamespaceName(name), name)
  for (const name of ['MX', 'Mx', 'mX', '', 'a b', '../x']) t.notOk(isNamespaceName(name), name)
})
