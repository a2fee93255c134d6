import t from 'tap'
import { createDeferredSource } from '../../../../core/auth/token/deferred-source.ts'
import { MemoryAuthSource } from '../../../fixtures/auth-source.ts'

t.test('watches opened before the source is set receive its values afterwards', async (t) => {
  const { source, setSource } = createDeferredSource()
  const { signal } = new AbortController()
  const rules = source.watchRules('mx', signal)[Symbol.asyncIterator]().next()
  const tokens = source.watchTokens(signal)[Symbol.asyncIterator]().next()
  const names = source.watchNamespaces(signal)[Symbol.asyncIterator]().next()
  const memory = new MemoryAuthSource()
  setSource(memory)
  t.match((await rules).value, [{ id: 'default' }])
  t.same((await names).value, new Set())
  t.ok((await tokens).value.keys.has(memory.key.id))
})
