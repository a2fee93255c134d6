import t from 'tap'
import { createApiKey, parseApiKey } from '../../../../core/auth/token/api-key.ts'
import { createDeferredSource } from '../../../../core/auth/token/deferred-source.ts'
import { createAccount, MemoryAuthSource } from '../../../fixtures/auth-source.ts'

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

t.test('an API key is verified by the source once it is set', async (t) => {
  const { source, setSource } = createDeferredSource()
  const key = createApiKey('00112233445566ff')
  const verifying = source.verifyApiKey?.(parseApiKey(key)!)
  const memory = new MemoryAuthSource()
  const session = memory.addApiKey(key, createAccount())
  setSource(memory)
  t.equal(await verifying, session)
})
