import t from 'tap'
import { createWarnings } from '../../../../adapters/registry/consul/warnings.ts'

t.test('reports each warning once and at most a thousand', async (t) => {
  const told: string[] = []
  const warn = createWarnings((message) => told.push(message))
  warn('a')
  warn('a')
  t.same(told, ['a'])
  for (let i = 0; i < 2000; i++) warn(String(i))
  t.equal(told.length, 1001)
  t.equal(told.at(-1), 'Consul: further warnings are suppressed')
})
