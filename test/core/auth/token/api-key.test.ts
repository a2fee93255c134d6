import t from 'tap'
import {
  createApiKey,
  createApiKeyId,
  hashApiKey,
  isApiKey,
  parseApiKey,
} from '../../../../core/auth/token/api-key.ts'

t.test('a key contains its id and a random secret', async (t) => {
  const id = createApiKeyId()
  t.match(id, /^[0-9a-f]{16}$/)
  t.not(id, createApiKeyId())
  const key = createApiKey(id)
  t.not(key, createApiKey(id))
  t.ok(key.startsWith(`mxk_${id}_`))
  t.ok(isApiKey(key))
  t.same(parseApiKey(key), { id, hash: hashApiKey(key) })
  t.match(hashApiKey(key), /^[\w-]{43}$/)
})

t.test('rejects malformed keys', async (t) => {
  const key = createApiKey(createApiKeyId())
  for (const text of ['', 'mxk_', key.slice(1), key.slice(0, -1), `${key}a`, `${key}\n`])
    t.equal(parseApiKey(text), undefined, JSON.stringify(text))
  t.ok(isApiKey('mxk_'), 'a malformed key is not a token')
  t.notOk(isApiKey('eyJhbGciOiJFZERTQSJ9.e30.'))
})
