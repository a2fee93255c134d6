import t from 'tap'
import { createWarnings } from '../../../../adapters/registry/consul/warnings.ts'

t.test('reports each warning once and at most a thousand', async (t) => {
  const messages: string[] = []
  const warn = createWarnings((message) => messages.push(message))
  warn('a')
  warn('a')
  t.same(messages, ['a'])
  for (let i = 0; i < 2000; i++) warn(String(i))
  t.equal(messages.length, 1001)
  t.equal(messages.at(-1), 'Consul: further warnings are suppressed')
})
